// Package audit makes bundles for auditors, and verifies them.
//
// A bundle is one archive about a project: what its surveys found, how the samples were
// drawn, the rules by which claims were decided, the decisions and the credentials, with
// pseudonyms in place of people, and a manifest with the hash of every file that the
// issuing oracle has signed. Verify needs the archive alone, no server and no store: it
// repeats every draw, recomputes every figure, decides every evaluation again and checks
// every signature, with the packages the server uses, and names what differs.
//
// It promises that no bundle holds sealed data or a person's name, whoever asks for it:
// the bundle is gathered through the API of this process with the rights of an auditor of
// that one project.
package audit

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/vc"
)

// Format identifies the format of a bundle.
const Format = "hearth-audit-1"

// ManifestName is the file with the hashes of all others, and the signature.
const ManifestName = "manifest.json"

// Limits of a bundle.
const (
	maxFiles    = 500
	maxFile     = 512 << 20
	maxManifest = 4 << 20
)

// Names of the files that a bundle has once.
const (
	readmeName       = "README.txt"
	projectName      = "project.json"
	protocolsName    = "protocols.json"
	claimsName       = "claims.ndjson"
	evaluationsName  = "evaluations.ndjson"
	credentialsName  = "credentials.ndjson"
	issuersName      = "issuers.json"
	listsName        = "status-lists.ndjson"
	calculationsName = "calculations.ndjson"
	revisionsName    = "revisions.ndjson"
)

// Entry is a file of a bundle.
type Entry struct {
	Name   string `json:"fileName"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// contents is what a manifest says.
type contents struct {
	ID      string   `json:"id"`
	Format  string   `json:"bundleFormat"`
	Project string   `json:"project"`
	LeftOut []string `json:"leftOut,omitzero"` // in words
	Files   []Entry  `json:"files"`
}

// manifest is a credential about the files of a bundle, without its proof.
type manifest struct {
	Context []jsontext.Value `json:"@context"`
	ID      string           `json:"id"`
	Type    []string         `json:"type"`
	Issuer  string           `json:"issuer"`
	From    string           `json:"validFrom"`
	Subject contents         `json:"credentialSubject"`
}

// vocabulary defines the terms of a manifest besides those of W3C.
const vocabulary = `{"AuditBundle":"urn:hearth:vocab:AuditBundle","bundleFormat":"urn:hearth:vocab:bundleFormat","bytes":"urn:hearth:vocab:bytes","fileName":"urn:hearth:vocab:fileName",` +
	`"files":"urn:hearth:vocab:files","leftOut":"urn:hearth:vocab:leftOut","project":{"@id":"urn:hearth:vocab:project","@type":"@id"},"sha256":"urn:hearth:vocab:sha256"}`

// document is the manifest that an issuer signs.
func (c *contents) document(issuer string, now time.Time) (jsontext.Value, error) {
	return json.Marshal(manifest{
		Context: []jsontext.Value{jsontext.Value(`"` + vc.ContextV2 + `"`), jsontext.Value(vocabulary)}, ID: c.ID, Type: []string{"VerifiableCredential", "AuditBundle"},
		Issuer: issuer, From: now.UTC().Format("2006-01-02T15:04:05Z"), Subject: *c,
	})
}

// writer writes a bundle.
type writer struct {
	contents
	zip *zip.Writer
}

func newWriter(out io.Writer, id, project string) *writer {
	return &writer{contents{ID: id, Format: Format, Project: project}, zip.NewWriter(out)}
}

// file adds a file that fill writes.
func (w *writer) file(name string, fill func(out io.Writer) error) error {
	if len(w.Files) >= maxFiles {
		return fmt.Errorf("a bundle has at most %d files", maxFiles)
	}
	entry, err := w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: sheet.ZipTime()})
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	sum := sha256.New()
	count := &counter{to: io.MultiWriter(entry, sum)}
	if err := fill(count); err != nil {
		return err
	}
	if name != ManifestName {
		w.Files = append(w.Files, Entry{name, hex.EncodeToString(sum.Sum(nil)), count.n})
	}
	return nil
}

// value adds a file with one value as JSON.
func (w *writer) value(name string, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.Multiline(true))
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return w.bytes(name, append(text, '\n'))
}

func (w *writer) bytes(name string, b []byte) error {
	return w.file(name, func(out io.Writer) error {
		_, err := out.Write(b)
		return err
	})
}

// lines adds a file with a value in each line.
func lines[T any](w *writer, name string, all []T) error {
	return w.file(name, func(out io.Writer) error {
		for i := range all {
			if err := line(out, all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func line(out io.Writer, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode a line: %w", err)
	}
	_, err = out.Write(append(text, '\n'))
	return err
}

// counter counts what is written.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}

// bundle is an archive that is read.
type bundle struct {
	contents
	issuer, method string
	made           time.Time
	signed         jsontext.Value
	files          map[string]*zip.File
	frame          []string // problems of the archive around the files
}

var errNoBundle = errors.New("this is not an audit bundle")

// open reads the manifest of an archive.
func open(in io.ReaderAt, size int64) (*bundle, error) {
	z, err := zip.NewReader(in, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoBundle, err)
	}
	b := &bundle{files: map[string]*zip.File{}, frame: frame(in, size, z.File)}
	if len(z.File) > maxFiles+1 {
		return nil, fmt.Errorf("%w: it has more than %d files", errNoBundle, maxFiles)
	}
	for _, f := range z.File {
		if b.files[f.Name] != nil {
			return nil, fmt.Errorf("%w: it has %s twice", errNoBundle, f.Name)
		}
		b.files[f.Name] = f
	}
	switch f := b.files[ManifestName]; {
	case f == nil:
		return nil, fmt.Errorf("%w: it has no %s", errNoBundle, ManifestName)
	case f.UncompressedSize64 > maxManifest:
		return nil, fmt.Errorf("%w: %s is too large", errNoBundle, ManifestName)
	}
	if b.signed, err = b.read(ManifestName); err != nil {
		return nil, err
	}
	var m struct {
		manifest
		Proof struct {
			Method string `json:"verificationMethod"`
		} `json:"proof"`
	}
	if err := json.Unmarshal(b.signed, &m); err != nil || m.Subject.Format != Format {
		return nil, fmt.Errorf("%w: the manifest cannot be read, or is not of the form %s", errNoBundle, Format)
	}
	b.contents, b.issuer, b.method = m.Subject, m.Issuer, m.Proof.Method
	if b.made, err = time.Parse(time.RFC3339, m.From); err != nil {
		return nil, fmt.Errorf("%w: validFrom of the manifest is no time", errNoBundle)
	}
	return b, nil
}

// read is a file of the bundle.
func (b *bundle) read(name string) ([]byte, error) {
	f := b.files[name]
	if f == nil {
		return nil, fmt.Errorf("%s is missing", name)
	}
	in, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { _ = in.Close() }() // it was read only
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return text, nil
}

// each reads the lines of a file.
func each[T any](b *bundle, name string, visit func(*T) error) error {
	text, err := b.read(name)
	if err != nil {
		return err
	}
	for one := range bytes.Lines(text) {
		v := new(T)
		if err := json.Unmarshal(one, v); err != nil {
			return fmt.Errorf("a line of %s cannot be read: %w", name, err)
		}
		if err := visit(v); err != nil {
			return err
		}
	}
	return nil
}
