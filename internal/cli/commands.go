package cli

import "slices"

// commands is everything the program can do, in the order help shows it.
func commands() []command {
	return append([]command{
		{name: "serve", summary: "Run the server", run: serve},
		{name: "config check", summary: "Look for mistakes in the configuration", run: configCheck},
		{name: "config print", summary: "Show every setting, its value and where it came from", run: configPrint},
		{name: "keys create", summary: "Make an API key and show it once", run: keysCreate, flags: keysCreateFlags},
		{name: "keys list", summary: "List the API keys of a workspace", run: keysList, flags: keysListFlags},
		{name: "keys rotate", args: "<id>", summary: "Replace an API key by a new one", run: keysRotate, flags: keysRotateFlags},
		{name: "keys revoke", args: "<id>", summary: "Make an API key invalid at once", run: keysRevoke, flags: keysRevokeFlags},
		{name: "workspaces create", args: "<id>", summary: "Make a workspace and its owner key", run: workspacesCreate, flags: workspacesCreateFlags},
		{name: "workspaces list", summary: "List the workspaces", run: workspacesList},
		{name: "backup create", args: "[file]", summary: "Copy the store while it is in use", run: backupCreate},
		{name: "backup verify", args: "<file>", summary: "Check that a backup is whole", run: backupVerify},
		{name: "backup restore", args: "<file>", summary: "Put a verified backup in place of the store", run: backupRestore},
		{name: "backup list", summary: "List the backups of the backup folder", run: backupList},
		{name: "db check", summary: "Check the store for damage", run: dbCheck},
		{name: "db compact", summary: "Return the space of deleted rows in the embedded store to the disk; stop the server first", run: dbCompact},
		{name: "db migrate", summary: "Make the store or bring its schema up to date, without serving", run: dbMigrate},
		{name: "nodes", summary: "List the servers that work on the store", run: nodes},
		{name: "oracle adopt", summary: "Set the oracle of the store to ORACLE_DID; stop all servers first", run: oracleAdopt, flags: oracleAdoptFlags},
		{name: "health", summary: "Ask the running server whether it is ready", run: health, flags: healthFlags},
		{name: "version", summary: "Print the version", run: printVersion},
	}, slices.Concat(consoleCommands(), demoCommands(), pluginCommands(), twinImportCommands(), jobCommands(), responseCommands(), kitchenCommands(), projectCommands(), collectCommands(), sampleCommands(), auditCommands(), ussdCommands(), ucanCommands(), mcpCommands())...)
}
