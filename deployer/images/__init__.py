"""Engine images: built from the rendered Dockerfile, tried with a real model, pushed or copied to the account's ECR."""
