// Command dist makes what people download: for each system an archive with the
// program, the licence, the README and a list of the program's components
// (CycloneDX), and one file with the checksums of all archives. The same commit
// gives the same bytes: times in the archives are those of the commit.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// systems lists the systems that get an archive.
var systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// beside are the files in each archive besides the program.
var beside = []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"}

// maker makes the archives of one version.
type maker struct {
	out, version string
	at           time.Time // of everything in the archives
	sums         strings.Builder
}

func main() {
	m := &maker{}
	only := flag.String("only", "", "one system, such as linux/amd64; all by default")
	flag.StringVar(&m.out, "out", "dist", "folder to write to")
	flag.StringVar(&m.version, "version", "", "version of the program; that in its source by default")
	flag.Parse()
	list := systems
	if *only != "" {
		list = []string{*only}
	}
	if err := m.makeAll(list); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func (m *maker) makeAll(list []string) error {
	if err := os.MkdirAll(m.out, 0o755); err != nil {
		return err
	}
	seconds, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
	if err != nil {
		return fmt.Errorf("read the time of the commit: %w", err)
	}
	at, err := strconv.ParseInt(strings.TrimSpace(string(seconds)), 10, 64)
	if err != nil {
		return fmt.Errorf("read the time of the commit: %w", err)
	}
	m.at = time.Unix(at, 0).UTC()
	if m.version == "" {
		if m.version, err = inSource("cmd/hearth/main.go"); err != nil {
			return err
		}
	}
	for i, system := range list {
		fmt.Printf("%d/%d %s\n", i+1, len(list), system)
		if err := m.makeOne(system); err != nil {
			return fmt.Errorf("%s: %w", system, err)
		}
	}
	return os.WriteFile(filepath.Join(m.out, "SHA256SUMS"), []byte(m.sums.String()), 0o644)
}

// inSource is the version that the source of the program states.
func inSource(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	m := regexp.MustCompile(`(?m)^var version = "(.+)"$`).FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s states no version", file)
	}
	return string(m[1]), nil
}

// makeOne compiles for one system, packs the program and writes down its parts.
func (m *maker) makeOne(system string) error {
	goos, arch, ok := strings.Cut(system, "/")
	if !ok {
		return fmt.Errorf("a system looks like linux/amd64")
	}
	work, err := os.MkdirTemp("", "hearth-dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	program := filepath.Join(work, "hearth")
	if goos == "windows" {
		program += ".exe"
	}
	if err := m.compile(goos, arch, program); err != nil {
		return err
	}
	parts, err := partsOf(program, m.version, m.at)
	if err != nil {
		return err
	}
	name := filepath.Join(m.out, strings.Join([]string{"hearth", m.version, goos, arch}, "_"))
	if err := m.write(name+".cdx.json", parts.write); err != nil {
		return err
	}
	files := append([]string{program}, beside...)
	if goos == "windows" {
		return m.write(name+".zip", func(w io.Writer) error { return zipOf(w, files, m.at) })
	}
	return m.write(name+".tar.gz", func(w io.Writer) error { return tarOf(w, files, m.at) })
}

func (m *maker) compile(goos, arch, to string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+m.version, "-o", to, "./cmd/hearth")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	return nil
}

// write makes a file and remembers its checksum.
func (m *maker) write(name string, fill func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	sum := sha256.New()
	if err := fill(io.MultiWriter(f, sum)); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", name, err)
	}
	fmt.Fprintf(&m.sums, "%x  %s\n", sum.Sum(nil), filepath.Base(name))
	return f.Close()
}
