package file

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"mime"
	"strings"
)

// MaxPixels limits the pixels of a picture: small files can unpack to very
// large ones in whatever shows them.
const MaxPixels = 250_000_000

// signature is how files of some types begin.
type signature struct {
	bytes string // ? is any byte
	types string // with spaces between them, the first is the usual one
}

// signatures are the types that can be recognised by their bytes.
var signatures = []signature{
	{"\xFF\xD8\xFF", "image/jpeg image/jpg image/pjpeg"},
	{"\x89PNG\r\n\x1A\n", "image/png"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
	{"RIFF????WEBP", "image/webp"},
	{"II*\x00", "image/tiff"},
	{"MM\x00*", "image/tiff"},
	{"\x00\x00??ftyp", "video/mp4 audio/mp4 audio/x-m4a audio/m4a audio/aac image/heic image/heif image/avif video/quicktime video/3gpp audio/3gpp video/x-m4v"},
	{"ID3\x02", "audio/mpeg audio/mp3 audio/aac"},
	{"ID3\x03", "audio/mpeg audio/mp3 audio/aac"},
	{"ID3\x04", "audio/mpeg audio/mp3 audio/aac"},
	{"\xFF\xFB", "audio/mpeg audio/mp3"},
	{"\xFF\xF3", "audio/mpeg audio/mp3"},
	{"\xFF\xF2", "audio/mpeg audio/mp3"},
	{"\xFF\xF1", "audio/aac audio/aacp audio/x-aac"},
	{"\xFF\xF9", "audio/aac audio/aacp audio/x-aac"},
	{"OggS\x00", "audio/ogg video/ogg application/ogg audio/opus"},
	{"RIFF????WAVE", "audio/wav audio/x-wav audio/wave audio/vnd.wave"},
	{"fLaC", "audio/flac audio/x-flac"},
	{"#!AMR", "audio/amr audio/amr-wb"},
	{"\x1A\x45\xDF\xA3", "video/webm audio/webm video/x-matroska"},
	{"%PDF-", "application/pdf"},
	{"PK\x03\x04", "application/zip application/x-zip-compressed application/epub+zip application/java-archive"},
	{"PK\x05\x06", "application/zip application/x-zip-compressed"},
	{"\x1F\x8B", "application/gzip application/x-gzip"},
	{"\x7FELF", "application/x-executable"},
	{"MZ\x90\x00", "application/vnd.microsoft.portable-executable application/x-msdownload"},
	{"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "application/x-ole-storage application/msword application/vnd.ms-excel application/vnd.ms-powerpoint"},
}

// Sniff is the type of a file by its first bytes, "" when they do not show it.
func Sniff(head []byte) string {
	if s := signed(head); s != nil {
		usual, _, _ := strings.Cut(s.types, " ")
		return usual
	}
	return ""
}

func signed(head []byte) *signature {
	for i := range signatures {
		if s := &signatures[i]; s.begins(head) {
			return s
		}
	}
	return nil
}

func (s *signature) begins(head []byte) bool {
	if len(head) < len(s.bytes) {
		return false
	}
	for i := range len(s.bytes) {
		if s.bytes[i] != '?' && s.bytes[i] != head[i] {
			return false
		}
	}
	return true
}

// Fits reports whether a file that begins with head may be of a declared type. A
// type that can be recognised by its bytes must have them, text must be text,
// and application/octet-stream may be anything.
func Fits(declared string, head []byte) bool {
	kind, _, err := mime.ParseMediaType(declared)
	if err != nil {
		return false
	}
	found := signed(head)
	switch {
	case kind == "application/octet-stream":
		return true
	case IsText(kind):
		return found == nil && !bytes.Contains(head, []byte{0})
	case found != nil && contains(found.types, kind):
		return true
	case strings.HasPrefix(kind, "application/vnd.openxmlformats-") || strings.HasPrefix(kind, "application/vnd.oasis.opendocument."):
		return bytes.HasPrefix(head, []byte("PK\x03\x04"))
	}
	for i := range signatures {
		if contains(signatures[i].types, kind) {
			return false // it would begin otherwise
		}
	}
	return found == nil // a type that cannot be recognised by its bytes
}

func contains(types, kind string) bool { return strings.Contains(" "+types+" ", " "+kind+" ") }

// IsText reports whether files of a media type, without parameters, are text.
func IsText(kind string) bool {
	switch kind {
	case "application/json", "application/xml", "application/csv", "application/x-ndjson", "application/jsonl", "application/json-lines",
		"application/yaml", "application/x-yaml", "application/toml", "application/markdown", "application/sql", "application/javascript", "application/graphql":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml")
}

// IsHuge reports whether a picture that begins with head states more pixels
// than MaxPixels. It unpacks nothing.
func IsHuge(head []byte) bool {
	read, ok := map[string]func(io.Reader) (image.Config, error){"image/jpeg": jpeg.DecodeConfig, "image/png": png.DecodeConfig, "image/gif": gif.DecodeConfig}[Sniff(head)]
	if !ok {
		return false
	}
	c, err := read(bytes.NewReader(head))
	return err == nil && int64(c.Width)*int64(c.Height) > MaxPixels
}
