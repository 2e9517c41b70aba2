package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
)

// servingName is the file in the data folder that says where its server is.
const servingName = "serving.json"

// serving says where a server listens, for commands that run beside it.
type serving struct {
	Listeners map[string]string `json:"listeners"` // name → address
	Version   string            `json:"version,omitzero"`
	StartedAt time.Time         `json:"startedAt,omitzero"`
}

// announce writes where this server listens. Without the file commands need to be
// told, so a failure to write it is no reason not to serve.
func (f *front) announce(version string) {
	s := serving{Listeners: map[string]string{}, Version: version, StartedAt: time.Now().UTC().Truncate(time.Second)}
	for _, l := range f.open {
		s.Listeners[l.name] = l.base()
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(filepath.Join(f.cfg.Data.Dir, servingName), text, 0o600)
	}
	if err != nil {
		f.log.Warn("address not written", "err", err.Error())
	}
}

// withdraw removes what announce wrote.
func (f *front) withdraw() error {
	if err := os.Remove(filepath.Join(f.cfg.Data.Dir, servingName)); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove address: %w", err)
	}
	return nil
}

// Address is where the server of a configuration serves an area, as seen on this
// machine: the address in its data folder, else that of its settings.
func Address(cfg *config.Config, area string) string {
	names := []string{mergedName}
	switch area {
	case "a", "b":
		names = []string{apiName, mergedName}
	case "c":
		names = []string{ussdName, mergedName}
	case "d":
		names = []string{oracleName, mergedName}
	}
	if at := written(cfg, names); at != "" {
		return at
	}
	scheme := "http"
	if cfg.UsesTLS() {
		scheme = "https"
	}
	return fmt.Sprintf("%s://localhost:%d", scheme, cfg.Server.Port)
}

// Announced is the address that the server of a configuration has written into its
// data folder, "" when there is none. Every listener answers readiness probes.
func Announced(cfg *config.Config) string {
	return written(cfg, []string{mergedName, apiName, adminName, oracleName, ussdName})
}

// written is the address of the first of these listeners that a server has written
// into its data folder.
func written(cfg *config.Config, names []string) string {
	var s serving
	text, err := os.ReadFile(filepath.Join(cfg.Data.Dir, servingName))
	if err != nil || json.Unmarshal(text, &s) != nil {
		return ""
	}
	for _, name := range names {
		if at := s.Listeners[name]; at != "" {
			return at
		}
	}
	return ""
}

// Serves reports whether a server uses the data folder of a configuration now. For
// a store in PostgreSQL that cannot be known here, and is assumed.
func Serves(cfg *config.Config) bool {
	if cfg.Postgres() {
		return true
	}
	lock, err := db.Lock(cfg.Data.Dir)
	if err != nil {
		return errors.Is(err, db.ErrLocked)
	}
	_ = lock.Unlock() // it is ours for a moment only
	return false
}
