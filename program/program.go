// Package program is all of Hearth as a function: the command line with its
// server, and your own plugins beside the bundled ones. A main package calls it:
//
//	func main() { program.Main(notes.New()) }
package program

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/hearth-dmrv/hearth/internal/cli"
	"github.com/hearth-dmrv/hearth/plugin"
	"github.com/hearth-dmrv/hearth/plugins"
)

// Main runs the command line, with plugins besides the bundled ones, and ends
// the process. Its version is that of the main module.
func Main(added ...plugin.Plugin) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	line := cli.Program{Version: version(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Plugins: append(plugins.Bundled(), added...)}
	code := line.Run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// Check says what is wrong with plugins: with each of them, or with all of them in
// one program. Tests of plugins call it.
func Check(added ...plugin.Plugin) error {
	return cli.CheckPlugins(append(plugins.Bundled(), added...))
}

func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "unknown"
}
