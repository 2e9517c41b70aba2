// Command withpg runs a command with a throw-away PostgreSQL, so that all test
// binaries of one run share one server:
//
//	go run ./build/withpg go test ./...
//
// HEARTH_TEST_POSTGRES_URL names the server; when it is already set, or when no
// PostgreSQL can be started, the command runs unchanged.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

const urlEnv = "HEARTH_TEST_POSTGRES_URL"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpg:", err)
	}
	os.Exit(code)
}

// run returns the exit code of the command.
func run(ctx context.Context, args []string) (code int, err error) {
	if len(args) == 0 {
		return 2, errors.New("usage: withpg command [argument…]")
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if os.Getenv(urlEnv) == "" {
		c, err := dbtest.Start(ctx)
		if err != nil {
			fmt.Fprintln(os.Stderr, "withpg: NO POSTGRESQL:", err)
		} else {
			cmd.Env = append(cmd.Env, urlEnv+"="+c.URL("postgres"))
			defer func() { err = errors.Join(err, c.Stop()) }()
		}
	}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode(), nil
	case err != nil:
		return 1, err
	}
	return 0, nil
}
