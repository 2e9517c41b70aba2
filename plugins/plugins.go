// Package plugins lists the plugins bundled with Hearth. Each is a package below
// this one, built on package plugin alone.
package plugins

import (
	"github.com/hearth-dmrv/hearth/plugin"
	"github.com/hearth-dmrv/hearth/plugins/files"
	"github.com/hearth-dmrv/hearth/plugins/memory"
	"github.com/hearth-dmrv/hearth/plugins/preferences"
	"github.com/hearth-dmrv/hearth/plugins/skills"
	"github.com/hearth-dmrv/hearth/plugins/slack"
	"github.com/hearth-dmrv/hearth/plugins/weather"
)

// Bundled makes the plugins that every Hearth has, beside those that are part of
// the server.
func Bundled() []plugin.Plugin {
	return []plugin.Plugin{weather.New(), preferences.New(), memory.New(), skills.New(), files.New(), slack.New()}
}
