// Command oracle is an example: Hearth with a plugin that knows when the help desk
// of a programme is open. It is built on package plugin alone, in a module of its
// own. docs/plugins.md walks through it.
package main

import "github.com/hearth-dmrv/hearth/program"

func main() { program.Main(NewHelpDesk()) }
