-- For a container's first start: the role and the database that `make run` makes as well. No superuser.
CREATE ROLE gateway LOGIN;
CREATE DATABASE gateway OWNER gateway;
