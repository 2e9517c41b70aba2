// Command oracle is an example: Hearth with a plugin that knows when a programme's
// help desk is open. It is built on package plugin alone, in its own module.
// docs/plugins.md walks through it.
package main

import "github.com/hearth-dmrv/hearth/program"

func main() { program.Main(NewHelpDesk()) }
