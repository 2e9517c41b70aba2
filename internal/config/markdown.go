package config

import (
	"fmt"
	"strings"
)

// docHead is the hand-written part of docs/configuration.md.
const docHead = `# Configuration

<!-- Generated from the table in internal/config by "make generate". Do not edit. -->

Hearth starts with no configuration at all. Every setting below can be given in three ways; the later one wins:

1. in a file, nested by group: ` + "`server.port`" + ` is the key ` + "`port`" + ` below ` + "`server`" + `;
2. in the environment, by the name in the first column;
3. as a flag: the environment name in lower case with dashes, without ` + "`HEARTH_`" + `: ` + "`--port 4000`" + `, ` + "`--data-dir /srv/hearth`" + `.

The file is the one named by ` + "`--config`" + ` or ` + "`HEARTH_CONFIG`" + `, else the first of ` + "`hearth.yaml`, `hearth.yml`, `hearth.json`" + ` in the data
folder, then in the working folder. Only one file is read. Relative paths start at the working folder.

` + "```yaml" + `
server:
  port: 4000
  areas: [a, b]
  corsOrigin: https://app.example.org
data:
  dir: /var/lib/hearth
` + "```" + `

- ` + "`hearth config check`" + ` lists every mistake at once; ` + "`hearth config print`" + ` shows what is in force and where it came from. Secrets are masked.
- An unknown key in the file, an unknown flag and an unknown ` + "`HEARTH_`" + ` name stop the start. An empty environment variable counts as not given.
- A secret can also be read from a file: ` + "`PIN_ENCRYPTION_KEY_FILE=/run/secrets/pin`" + `. As a flag it would show in the process list.
- Durations are written ` + "`90s`, `15m`, `24h`, `30d`" + `; a number alone is seconds. Sizes are bytes, or ` + "`64KiB`, `1MiB`" + `. Lists are separated by commas; a file may use a sequence.
- Plugins have settings of their own: ` + "`plugins.<name>.<setting>`" + ` in the file, ` + "`HEARTH_PLUGIN_<NAME>_<SETTING>`" + ` in the environment.
- ` + "`GOGC` and `GOMEMLIMIT`" + ` are those of the Go runtime. Without them Hearth sets both: GOGC to 400, and GOMEMLIMIT to the memory its control group allows less a tenth (at least 96 MiB) for memory outside of Go.
- Settings of an area are checked from the first start on; they take effect with the area that reads them.
- Insecure choices are named in the log at every start.
`

// Markdown is the text of docs/configuration.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(docHead)
	for _, g := range Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n", g.Title)
		b.WriteString("| Setting | File key | Default | Meaning | Values |\n|---|---|---|---|---|\n")
		for _, s := range Settings() {
			if s.Group() == g.Key {
				b.WriteString(markdownRow(s))
			}
		}
	}
	return b.String()
}

func markdownRow(s Setting) string {
	names := "`" + s.Env + "`"
	for _, a := range s.Aliases {
		names += " (or `" + a + "`)"
	}
	def := "none"
	if s.Default != "" {
		def = "`" + s.Default + "`"
	}
	doc := s.Doc
	if s.Secret {
		doc += " Secret."
	}
	escape := strings.NewReplacer("|", `\|`, "<", "&lt;")
	return fmt.Sprintf("| %s | `%s` | %s | %s | %s |\n", names, s.Key, def, escape.Replace(doc), escape.Replace(s.Want()))
}
