package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// bom is a bill of materials in the form of CycloneDX 1.5.
type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Serial     string      `json:"serialNumber"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Time      string     `json:"timestamp"`
	Component component  `json:"component"`
	Settings  []property `json:"properties"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Package string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// partsOf reads from a program which modules it was made of. What is not linked
// in is not listed.
func partsOf(program, version string, at time.Time) (*bom, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("read build info: %w", err)
	}
	body, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	main := module("application", &debug.Module{Path: info.Main.Path, Version: version})
	main.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	b := &bom{
		Format: "CycloneDX", Spec: "1.5", Version: 1,
		Serial:     serial(sum),
		Metadata:   metadata{Time: at.Format(time.RFC3339), Component: main},
		Components: []component{{Type: "library", Ref: "pkg:golang/std@" + info.GoVersion, Name: "std", Version: info.GoVersion, Package: "pkg:golang/std@" + info.GoVersion}},
	}
	for _, s := range info.Settings {
		if strings.HasPrefix(s.Key, "GO") || strings.HasPrefix(s.Key, "vcs.") || s.Key == "CGO_ENABLED" {
			b.Metadata.Settings = append(b.Metadata.Settings, property{"go:build:" + s.Key, s.Value})
		}
	}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		b.Components = append(b.Components, module("library", d))
	}
	return b, nil
}

// serial is a UUID of version 8, made of the program itself, so that the same
// program has the same.
func serial(sum [sha256.Size]byte) string {
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func module(kind string, m *debug.Module) component {
	c := component{Type: kind, Name: m.Path, Version: m.Version, Package: packageURL(m.Path, m.Version)}
	c.Ref = c.Package
	// A sum of modules is base64 after h1:, which is SHA-256 over a list of files.
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(raw) == sha256.Size {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
	}
	return c
}

func packageURL(path, version string) string {
	return "pkg:golang/" + path + "@" + url.PathEscape(version)
}

func (b *bom) write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(b)
}
