"""`python -m deployer` is the same program as the `deployer` console script."""

from deployer.cli.app import main

if __name__ == "__main__":
    main()
