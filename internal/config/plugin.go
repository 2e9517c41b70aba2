package config

import (
	"slices"
	"strings"
)

// pluginPrefix begins the environment names of plugin settings:
// HEARTH_PLUGIN_WEATHER_UNITS is the setting units of the plugin weather.
const pluginPrefix = "HEARTH_PLUGIN_"

// plugins are settings only a plugin understands.
type plugins struct {
	file map[string]map[string]string // plugin → setting → text
	env  [][2]string                  // name and text, sorted by name
}

// add takes plugins.<plugin>.<setting> from the file.
func (p *plugins) add(e entry) bool {
	if len(e.path) != 3 || e.null {
		return false
	}
	if p.file == nil {
		p.file = map[string]map[string]string{}
	}
	name, key := e.path[1], e.path[2]
	if p.file[name] == nil {
		p.file[name] = map[string]string{}
	}
	p.file[name][key] = e.text
	return true
}

// Plugin is the settings of the plugin with this name: those in the file under
// plugins.<name>, and over them HEARTH_PLUGIN_<NAME>_<SETTING>, whose last
// part becomes camelCase. The map is the caller's own. Lists arrive with
// commas between their items.
func (c *Config) Plugin(name string) map[string]string {
	out := map[string]string{}
	for key, text := range c.plugins.file[name] {
		out[key] = text
	}
	prefix := pluginPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_"
	for _, pair := range c.plugins.env {
		if key, ok := strings.CutPrefix(pair[0], prefix); ok && key != "" {
			out[camel(key)] = pair[1]
		}
	}
	return out
}

// camel turns MAX_ITEMS into maxItems.
func camel(s string) string {
	parts := strings.Split(strings.ToLower(s), "_")
	for i, p := range parts {
		if i > 0 && p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

// pluginKeys are the names of all plugin settings that were given, sorted.
func (c *Config) pluginKeys() []string {
	var out []string
	for name, settings := range c.plugins.file {
		for key := range settings {
			out = append(out, "plugins."+name+"."+key)
		}
	}
	slices.Sort(out)
	for _, pair := range c.plugins.env {
		out = append(out, pair[0])
	}
	return out
}
