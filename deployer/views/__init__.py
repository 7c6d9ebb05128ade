"""Views read Events and documents and show them; they never decide anything."""
