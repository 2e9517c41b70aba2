package cli

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/plugin"
)

// self is the module of this program.
const self = "github.com/hearth-dmrv/hearth"

// scaffold is what a new plugin begins with. The files of Go end in .tmpl, or they
// would be part of this program.
//
//go:embed scaffold
var scaffold embed.FS

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func pluginCommands() []command {
	return []command{
		{name: "plugin new", args: "<folder>", summary: "Write the beginning of a plugin: a module that builds a Hearth with it", run: pluginNew, flags: pluginFlags},
		{name: "plugin sync", args: "<folder>", summary: "Give the module of a plugin the dependencies its checkout of Hearth has now", run: pluginSync, flags: pluginFlags},
	}
}

// CheckPlugins says what is wrong with plugins in a program without settings.
func CheckPlugins(plugins []plugin.Plugin) error { return app.CheckPlugins(config.Default(), plugins) }

// pluginOwn are the flags of both.
type pluginOwn struct{ checkout string }

func pluginFlags(fs *flag.FlagSet) any {
	own := &pluginOwn{}
	fs.StringVar(&own.checkout, "checkout", "", "folder of the source of Hearth; the one this is called in, or one beside it, by default")
	return own
}

// pluginNew writes a module.
func pluginNew(_ context.Context, c *call) error {
	dir, err := c.one("folder")
	if err != nil {
		return err
	}
	name := filepath.Base(filepath.Clean(dir))
	if !pluginName.MatchString(name) {
		return errUsage{fmt.Sprintf("the folder %q gives the plugin its name: lower-case words with hyphens between them", name)}
	}
	if slices.Contains(app.PluginNames(c.plugins), name) {
		return errUsage{fmt.Sprintf("Hearth has a plugin %s already, and two cannot have one name: take another folder", name)}
	}
	checkout, err := findCheckout(c.own.(*pluginOwn).checkout)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	about := scaffolded{Name: name, Title: title(name), Snake: strings.ReplaceAll(name, "-", "_")}
	for file, from := range map[string]string{"main.go": "main.go.tmpl", "plugin.go": "plugin.go.tmpl", "plugin_test.go": "plugin_test.go.tmpl"} {
		if err := about.write(filepath.Join(dir, file), from); err != nil {
			return err
		}
	}
	if err := writeModule(dir, checkout, "example.com/"+name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s is the plugin %s, built with the checkout of Hearth in %s.\n\n  cd %s\n  go test ./...\n  go run . serve\n\nThen: curl 'localhost:3000/%s?name=Amina'\n", dir, name, checkout, dir, name)
	return err
}

// pluginSync rewrites go.mod and go.sum of a module.
func pluginSync(_ context.Context, c *call) error {
	dir, err := c.one("folder")
	if err != nil {
		return err
	}
	old, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(old), "\n")
	module, ok := strings.CutPrefix(line, "module ")
	if !ok {
		return fmt.Errorf("%s does not begin with the name of a module", filepath.Join(dir, "go.mod"))
	}
	checkout := c.own.(*pluginOwn).checkout
	if _, path, found := strings.Cut(string(old), "replace "+self+" => "); checkout == "" && found {
		path, _, _ = strings.Cut(path, "\n")
		checkout = filepath.Join(dir, path)
	}
	if checkout, err = findCheckout(checkout); err != nil {
		return err
	}
	return writeModule(dir, checkout, strings.TrimSpace(module))
}

// scaffolded is what differs from plugin to plugin.
type scaffolded struct{ Name, Title, Snake string }

func (s scaffolded) write(file, from string) error {
	text, err := scaffold.ReadFile("scaffold/" + from)
	if err != nil {
		return err
	}
	// text/template would keep every method of the program from being left out of the
	// binary, five megabytes of them.
	filled := strings.NewReplacer("[[.Name]]", s.Name, "[[.Title]]", s.Title, "[[.Snake]]", s.Snake).Replace(string(text))
	return os.WriteFile(file, []byte(filled), 0o644)
}

func title(name string) string {
	words := strings.ReplaceAll(name, "-", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// findCheckout finds the source of Hearth: at the given path, here, or in a
// neighbouring or parent folder.
func findCheckout(said string) (string, error) {
	places := []string{".", "hearth", "../hearth", ".."}
	if said != "" {
		places = []string{said}
	}
	for _, place := range places {
		text, err := os.ReadFile(filepath.Join(place, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module "+self+"\n") {
			return filepath.Abs(place)
		}
	}
	if said != "" {
		return "", errUsage{said + " is no checkout of Hearth"}
	}
	return "", errUsage{"there is no checkout of Hearth here: say where it is with --checkout"}
}

// writeModule writes go.mod and go.sum of a module that is built with a checkout.
// All its dependencies have the versions of the checkout.
func writeModule(dir, checkout, module string) error {
	text, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	if err != nil {
		return err
	}
	_, rest, ok := strings.Cut(string(text), "\n")
	if !ok {
		return errors.New("go.mod of the checkout is empty")
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	path, err := filepath.Rel(full, checkout)
	if err != nil {
		path = checkout
	}
	if path = filepath.ToSlash(path); !strings.HasPrefix(path, ".") && !filepath.IsAbs(path) {
		path = "./" + path
	}
	mod := "module " + module + "\n" + indirect(rest) + "\nrequire " + self + " v0.0.0\n\nreplace " + self + " => " + path + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644)
}

// indirect marks what a go.mod requires as needed by others.
func indirect(mod string) string {
	lines := strings.Split(mod, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "\t") && !strings.HasSuffix(line, "// indirect") {
			lines[i] = line + " // indirect"
		}
	}
	return strings.Join(lines, "\n")
}
