"""Engine images: built here from the rendered Dockerfile, tried with a real model, pushed to the account's ECR."""
