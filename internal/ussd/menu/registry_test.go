package menu_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// fileWith writes a pack and gives it a time of its own, so that a look sees
// the change however fast the test is.
func fileWith(t *testing.T, path, text string, age time.Duration) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func registry(t *testing.T, c menu.RegistryConfig) *menu.Registry {
	t.Helper()
	if c.Known.Actions == nil {
		c.Known = smallKnown()
	}
	r, err := menu.NewRegistry(c)
	if err != nil {
		t.Fatalf("NewRegistry: %v", err)
	}
	return r
}

func TestRegistryReloads(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "menu.yaml")
	fileWith(t, path, small, 0)
	var seen []string
	r := registry(t, menu.RegistryConfig{Source: path, Changed: func(p *menu.Pack) { seen = append(seen, p.Version) }})
	first := r.Current()

	if err := r.Look(); err != nil || r.Current() != first {
		t.Errorf("a look at the same file: %v, changed: %v", err, r.Current() != first)
	}
	fileWith(t, path, changed(t, "en: Ask", "en: Tell"), time.Second)
	if err := r.Look(); err != nil {
		t.Fatalf("Look: %v", err)
	}
	second := r.Current()
	if second == first || second.Node("home").Options[0].Text["en"] != "Tell" {
		t.Errorf("the pack did not change: %s", second.Version)
	}
	if r.Version(first.Version) != first || r.Version(second.Version) != second || r.Version("x") != nil {
		t.Error("a running session does not find its version")
	}

	fileWith(t, path, changed(t, "start: home", "start: hom"), 2*time.Second)
	var problems menu.Problems
	if err := r.Look(); !errors.As(err, &problems) || len(problems) != 1 || problems[0].File != path {
		t.Errorf("a look at a bad file: %v", err)
	}
	if err := r.Look(); err != nil {
		t.Errorf("a second look at a bad file: %v, want silence", err)
	}
	if err := r.Reload(); err == nil {
		t.Error("Reload of a bad file says nothing")
	}
	if r.Current() != second {
		t.Error("a bad file replaced the pack")
	}

	fileWith(t, path, "# only a comment is new\n"+changed(t, "en: Ask", "en: Tell"), 3*time.Second)
	if err := r.Look(); err != nil || r.Current() != second {
		t.Errorf("a comment: %v, changed: %v", err, r.Current() != second)
	}
	if len(seen) != 1 || seen[0] != second.Version {
		t.Errorf("Changed was called with %q, want %q once", seen, second.Version)
	}
}

func TestRegistryKeepsEightVersions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "menu.yaml")
	fileWith(t, path, small, 0)
	r := registry(t, menu.RegistryConfig{Source: path})
	versions := []string{r.Current().Version}
	for i := range 9 {
		fileWith(t, path, changed(t, "en: Ask", "en: Ask"+strings.Repeat("!", i+1)), time.Duration(i+1)*time.Second)
		if err := r.Look(); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, r.Current().Version)
	}
	for i, v := range versions {
		if got, want := r.Version(v) != nil, i >= 2; got != want {
			t.Errorf("version %d of 10 is there: %v, want %v", i, got, want)
		}
	}
	fileWith(t, path, changed(t, "en: Ask", "en: Ask!!!!!"), time.Minute)
	if err := r.Look(); err != nil || r.Current().Version != versions[5] || r.Version(versions[9]) == nil {
		t.Errorf("an old version did not come back: %v", err)
	}
}

func TestRegistryStartsWithAGoodPackOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "menu.yaml")
	if _, err := menu.NewRegistry(menu.RegistryConfig{Source: path, Known: smallKnown()}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	fileWith(t, path, "pack: x", 0)
	var problems menu.Problems
	if _, err := menu.NewRegistry(menu.RegistryConfig{Source: path, Known: smallKnown()}); !errors.As(err, &problems) {
		t.Errorf("bad file: %v", err)
	}
}

func TestRegistryOfAShippedPack(t *testing.T) {
	t.Parallel()
	r := registry(t, menu.RegistryConfig{Known: known()})
	if r.Current().Name != "hearth" {
		t.Errorf("without a source: %s", r.Current().Name)
	}
	if err := errors.Join(r.Look(), r.Reload()); err != nil {
		t.Errorf("Look and Reload: %v", err)
	}
}

// TestRegistryRun has its own clock: the file is looked at every 2 s.
func TestRegistryRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "menu.yaml")
	fileWith(t, path, small, 0)
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := registry(t, menu.RegistryConfig{Source: path, Log: slog.New(slog.NewTextHandler(&log, nil))})
		first := r.Current()
		ctx, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() {
			if err := r.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		tick := func() {
			<-time.After(2 * time.Second)
			synctest.Wait()
		}
		fileWith(t, path, changed(t, "en: Ask", "en: Tell"), time.Second)
		tick()
		if r.Current() == first {
			t.Error("the file was not looked at")
		}
		fileWith(t, path, changed(t, "start: home", "start: hom", "do: store", "do: stor"), 2*time.Second)
		tick()
		tick()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		tick()
		tick()
		stop()
		done.Wait()
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 4 || !strings.Contains(lines[1], "start: no node") || !strings.Contains(lines[2], "no action") || !strings.Contains(lines[3], "no such file") {
			t.Errorf("the log says\n%s\nwant the change, two problems and the missing file, once each", log.String())
		}
	})
}

// TestRegistryUnderLoad reads while the pack changes; the race detector looks on.
func TestRegistryUnderLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "menu.yaml")
	fileWith(t, path, small, 0)
	r := registry(t, menu.RegistryConfig{Source: path})
	var readers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				p := r.Current()
				if p.Node("home").Render(&menu.View{Lang: "sw"}).Text == "" || r.Version(p.Version) == nil {
					t.Error("a pack is gone while it is current")
				}
			}
		})
	}
	for i := range 6 {
		fileWith(t, path, changed(t, "en: Ask", "en: Ask"+strings.Repeat("?", i+1)), time.Duration(i+1)*time.Second)
		if err := r.Look(); err != nil {
			t.Error(err)
		}
	}
	stop()
	readers.Wait()
}
