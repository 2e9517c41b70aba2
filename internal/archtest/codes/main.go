// Command codes writes docs/errors.md: every error code of the API, found in
// the source where the fault is made. A test fails when the page is stale.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: codes <root of the repository> <page to write>")
		os.Exit(2)
	}
	page, err := generate(os.Args[1])
	if err == nil {
		err = os.WriteFile(os.Args[2], page, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "codes:", err)
		os.Exit(1)
	}
}

// generate makes the page from the source below root.
func generate(root string) ([]byte, error) {
	files, err := readSource(root)
	if err != nil {
		return nil, err
	}
	found, err := scan(files)
	if err != nil {
		return nil, err
	}
	return render(found), nil
}
