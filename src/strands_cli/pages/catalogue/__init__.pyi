from strands_cli.pages.catalogue.plugin_pages import index_pages as index_pages
