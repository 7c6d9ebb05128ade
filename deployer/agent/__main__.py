"""`python3 -m deployer_agent --config /etc/deployer/agent.json`."""

from .main import main

raise SystemExit(main())
