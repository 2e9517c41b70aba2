// Command gen brings the parts of docs/ussd.md that are made from the code up
// to date. Give it the file.
package main

import (
	"fmt"
	"os"

	"github.com/hearth-dmrv/hearth/internal/ussd/reference"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("give the file to bring up to date")
	}
	page, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	text, err := reference.Page(string(page))
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return os.WriteFile(args[0], []byte(text), 0o644)
}
