"""What moto lacks of a real AWS, one rule per file. Each rule is `(call, proceed) -> Reply`."""
