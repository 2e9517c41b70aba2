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

// PluginSettings divides the settings among plugins: those in the file under
// plugins.<name>, overridden by HEARTH_PLUGIN_<NAME>_<SETTING>, whose last part
// becomes camelCase. A variable belongs to the longest name that it begins with.
// Lists are joined with commas. stray are the keys that belong to none of them.
func (c *Config) PluginSettings(names []string) (of map[string]map[string]string, stray []string) {
	of = map[string]map[string]string{}
	for _, name := range names {
		of[name] = map[string]string{}
	}
	for name, settings := range c.plugins.file {
		for key, text := range settings {
			if of[name] == nil {
				stray = append(stray, "plugins."+name+"."+key)
				continue
			}
			of[name][key] = text
		}
	}
	slices.Sort(stray)
	for _, pair := range c.plugins.env {
		name, key := pluginOf(pair[0], names)
		if key == "" {
			stray = append(stray, pair[0])
			continue
		}
		of[name][camel(key)] = pair[1]
	}
	return of, stray
}

// pluginOf finds the plugin a variable belongs to, and the rest of its name.
func pluginOf(variable string, names []string) (plugin, key string) {
	for _, name := range names {
		prefix := pluginPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_"
		if rest, ok := strings.CutPrefix(variable, prefix); ok && len(name) >= len(plugin) {
			plugin, key = name, rest
		}
	}
	return plugin, key
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
