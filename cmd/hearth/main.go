// Command hearth runs a household-energy programme: digital twins, surveys,
// USSD and an oracle behind one listener. hearth help lists what it can do.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/hearth-dmrv/hearth/internal/cli"
	"github.com/hearth-dmrv/hearth/plugins"
)

// version is set by the release build.
var version = "0.1.0-dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	p := cli.Program{Version: version, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Plugins: plugins.Bundled()}
	code := p.Run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
