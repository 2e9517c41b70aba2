// Command gen writes docs/configuration.md from the table of settings. Run it
// from the top of the repository: go run ./internal/config/gen.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/hearth-dmrv/hearth/internal/config"
)

func main() {
	out := flag.String("o", "docs/configuration.md", "`file` to write")
	flag.Parse()
	if err := os.WriteFile(*out, []byte(config.Markdown()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
