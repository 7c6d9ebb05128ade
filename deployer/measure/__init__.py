"""Measuring an endpoint from here: what to ask, the requests, what came back as numbers. Nothing on the instance."""
