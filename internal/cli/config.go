package cli

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/app"
)

// configCheck runs after the configuration was read without a mistake; a bad
// one never gets here, its mistakes are all printed instead.
func configCheck(_ context.Context, c *call) error {
	file := c.cfg.File()
	if file == "" {
		file = "none"
	}
	if err := app.CheckFiles(c.cfg); err != nil {
		return errUsage{err.Error()}
	}
	if err := app.CheckPlugins(c.cfg, c.plugins); err != nil {
		return errUsage{err.Error()}
	}
	fmt.Fprintf(c.out, "The configuration is valid (file: %s).\n", file)
	for _, line := range c.cfg.Warnings() {
		fmt.Fprintf(c.out, "warning: %s\n", line)
	}
	return nil
}

func configPrint(_ context.Context, c *call) error { return c.cfg.Print(c.out) }
