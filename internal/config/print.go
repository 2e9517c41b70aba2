package config

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes the effective configuration: every setting, its value with
// secrets masked, and where the value came from.
func (c *Config) Print(w io.Writer) error {
	var b strings.Builder
	if c.file != "" {
		fmt.Fprintf(&b, "# file: %s\n", c.file)
	}
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SETTING\tVALUE\tSOURCE")
	for _, s := range Settings() {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", s.Env, c.Shown(s), c.sources[s.Env])
	}
	for _, name := range c.pluginKeys() {
		// Only the plugin knows which of its settings are secret.
		fmt.Fprintf(tw, "%s\t%s\t\n", name, mask)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print configuration: %w", err)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Shown is the value of s as a person may see it: secrets are masked.
func (c *Config) Shown(s Setting) string {
	text := shown(s, s.get(c))
	if text == "" {
		return "-"
	}
	return text
}
