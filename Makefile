# Every target sets itself up: it checks what is needed, makes build/venv, builds and installs Cannery there, and goes on.
# PYTHON names the interpreter to use (3.11 or newer); without it python3, or python3.13 .. python3.11, is taken.
PYTHON ?= python3
VENV := build/venv
export PYTHON

.PHONY: demo test lint bench clean help

help:
	@echo 'make demo    record a sample program, show and replay it, and see what a second run does differently'
	@echo 'make test    run the tests (TESTS="tests/test_elf.py -k static" selects some)'
	@echo 'make lint    ruff, mypy --strict, checks of generated tables'
	@echo 'make bench   measure the costs that the README names'
	@echo 'make clean   remove what was built'

demo:
	@sh tools/setup/environment.sh $(VENV)
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sh tools/demo/demo.sh

test:
	@sh tools/setup/environment.sh $(VENV) test
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python -m pytest -n 2 $(TESTS)

lint:
	@sh tools/setup/environment.sh $(VENV) test lint
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sh tools/setup/lint.sh

bench:
	@sh tools/setup/environment.sh $(VENV) bench
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python -m cannery.tools.bench

clean:
	rm -rf build/venv build/cp3* dist
