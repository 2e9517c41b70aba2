package menu_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// TestMissingTranslationsGoLive: a file that lacks translations is served, at
// the start as after a change, what it lacks is shown in the default language,
// and the log says so.
func TestMissingTranslationsGoLive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "menu.yaml")
	partial := []string{
		`{en: "Welcome to {app}", sw: "Karibu {app}"}`, `{en: "Welcome to {app}"}`, "{en: Ask, sw: Uliza}", "{en: Ask}",
		"{en: Exit, sw: Toka}", "{en: Exit}", "title: {en: Demo, sw: Onyesho}", "title: {en: Demo}", "{en: No such key., sw: Hakuna.}", "{en: No such key.}",
	}
	for _, restart := range []bool{false, true} {
		var log bytes.Buffer
		c := menu.RegistryConfig{Source: path, Log: slog.New(slog.NewTextHandler(&log, nil))}
		if restart {
			fileWith(t, path, changed(t, partial...), time.Second)
			registry(t, c)
		} else {
			fileWith(t, path, small, 0)
			r := registry(t, c)
			if log.Len() > 0 {
				t.Errorf("a finished pack is logged:\n%s", log.String())
			}
			fileWith(t, path, changed(t, partial...), time.Second)
			if err := r.Look(); err != nil {
				t.Fatalf("Look = %v, want the pack to be taken", err)
			}
			p := r.Current()
			v := &menu.View{Lang: "sw"}
			want := "Welcome to Demo\n1. Ask\n9. Kiswahili\n*. Exit"
			if got := p.Node("home").Render(v).Text; got != want {
				t.Errorf("home in sw = %q, want %q", got, want)
			}
			if got, want := p.Fill(p.Navigation.Invalid, v), "No such key."; got != want {
				t.Errorf("the notice in sw = %q, want %q", got, want)
			}
			if got, want := p.Node("ask").Render(v).Text, "Jina lako?\n00. Ruka\n0. Rudi\n*. Exit"; got != want {
				t.Errorf("ask in sw = %q, want %q", got, want)
			}
		}
		for _, want := range []string{"level=WARN", "count=5", "home (sw): text has no translation; it is shown in en", "navigation.exit has no translation"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("restart %v: the log says\n%swant %q", restart, log.String(), want)
			}
		}
	}
}

// TestUnfinishedMenusDoNotFloodTheLog names the first findings and counts all.
func TestUnfinishedMenusDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	text := small
	for i := range 60 {
		text += "  alone" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + ": {text: {en: x}, back: home}\n"
	}
	path := filepath.Join(t.TempDir(), "menu.yaml")
	fileWith(t, path, text, 0)
	var log bytes.Buffer
	registry(t, menu.RegistryConfig{Source: path, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if n := strings.Count(log.String(), "\n"); n != 21 || !strings.Contains(log.String(), "count=120") {
		t.Errorf("the log has %d lines, want 20 and one that counts:\n%s", n, log.String())
	}
}
