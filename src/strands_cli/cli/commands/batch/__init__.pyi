from strands_cli.cli.commands.batch.batch_status import print_status as print_status
