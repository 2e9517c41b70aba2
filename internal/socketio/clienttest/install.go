package clienttest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const installTime = 3 * time.Minute

// manifest lists the files below test/clients that decide which packages to install.
var manifest = []string{"package.json", "package-lock.json", "chain-client/package.json", "chain-client/index.mjs"}

// packages returns the folder with the installed packages. The first call installs
// them. A hash of manifest names the folder, so another version gets another one.
func packages(t *testing.T) string {
	t.Helper()
	node(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "hearth-test-clients", key(t))
	ctx, cancel := context.WithTimeout(t.Context(), installTime)
	defer cancel()
	for !exists(dir) {
		unlock, ok := lock(t, dir+".lock")
		if ok {
			install(ctx, t, dir, unlock)
			continue
		}
		select { // another test program is at it
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			lacking(t, "another test program has not installed the packages within "+installTime.String()+": "+dir)
		}
	}
	return dir
}

// node skips the test, or fails it, unless npm and a recent node are installed.
func node(t *testing.T) {
	t.Helper()
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			lacking(t, name+" is not installed")
		}
	}
	out, err := exec.CommandContext(t.Context(), "node", "--version").Output()
	version := strings.TrimSpace(string(out))
	text, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if major, bad := strconv.Atoi(text); err != nil || bad != nil || major < oldestNode {
		lacking(t, "node is "+version+", not "+strconv.Itoa(oldestNode)+" or newer")
	}
}

// lacking skips the test, or fails it, because something is missing on this machine.
func lacking(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("HEARTH_TEST_CLIENTS") == "1" {
		t.Fatalf("HEARTH_TEST_CLIENTS=1: %s", why)
	}
	t.Skipf("SKIPPED: the published clients are not tried: %s", why)
}

// key returns the name of a set of packages.
func key(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	for _, name := range manifest {
		text, err := os.ReadFile(filepath.Join(home(t), filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		size := strconv.Itoa(len(text))
		sum.Write([]byte(name + " " + size + "\n"))
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// lock keeps other test programs from installing the same packages. It ignores a
// lock whose owner must have died.
func lock(t *testing.T, path string) (unlock func(), ok bool) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > installTime+time.Minute {
		os.Remove(path)
	}
	err := os.Mkdir(path, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil, false
	} else if err != nil {
		t.Fatal(err)
	}
	return func() { os.Remove(path) }, true
}

// install creates dir with the packages: completely or not at all.
func install(ctx context.Context, t *testing.T, dir string, unlock func()) {
	t.Helper()
	defer unlock()
	if exists(dir) {
		return // between our look and our lock
	}
	half, err := os.MkdirTemp(filepath.Dir(dir), "half-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(half)
	for _, name := range manifest {
		copyFile(t, filepath.Join(home(t), filepath.FromSlash(name)), filepath.Join(half, filepath.FromSlash(name)))
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
		"--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000")
	npm.Dir, npm.WaitDelay = half, 5*time.Second
	out, err := npm.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		lacking(t, "npm ci did not end within "+installTime.String())
	case err != nil && unreachable(string(out)) != "":
		lacking(t, "npm ci cannot reach the registry: "+unreachable(string(out)))
	case err != nil:
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	if err := os.Rename(half, dir); err != nil {
		t.Fatal(err)
	}
}

// unreachable returns npm's error code if npm failed because the registry
// did not serve a package. A lock file that does not match, or a package that has changed,
// is a different failure.
func unreachable(out string) string {
	for _, code := range []string{
		"ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH", "ERR_SOCKET_TIMEOUT",
		"UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "SELF_SIGNED_CERT_IN_CHAIN", "ENOTCACHED", "code E401", "code E403", "code E404", "code E5",
	} {
		if strings.Contains(out, code) {
			return strings.TrimPrefix(code, "code ")
		}
	}
	return ""
}
