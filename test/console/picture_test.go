package console

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// pictures is where make pictures wants them.
var pictures = flag.String("pictures", "", "folder for the pictures of the documentation; none are made without it")

// maxPicture is the size of a picture in bytes, so that a clone stays small.
const maxPicture = 100_000

// shots are the pictures of the documentation: a page of the demo each.
var shots = []struct{ name, path, wait string }{
	{"today", "/console/", ".feed li"},
	{"survey", "/console/surveys/$SURVEY", ".quotas"},
	{"desk", "/console/desk", "main h1"},
	{"twin", "/console/twins/$HOUSEHOLD", ".graph svg"},
	{"handset", "/console/handset", "main h1"},
	{"menu", "/console/menu", "main svg"},
	{"health", "/console/health", "main h1"},
	{"chat", "/console/chat", "main h1"},
	{"places", "/console/places", "main svg"},
}

// TestPictures holds the pictures of the documentation to their size. With the flag
// it photographs the pages of the demo anew.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		for _, s := range shots {
			info, err := os.Stat(filepath.Join("../../docs/pictures", s.name+".png"))
			if err != nil || info.Size() > maxPicture {
				t.Errorf("picture %s: %v, %v; want at most %d bytes", s.name, info, err, maxPicture)
			}
		}
		return
	}
	d := openDemo(t)
	d.size(1280, 800)
	fill := d.examples()
	for _, s := range shots {
		d.visit(fill.Replace(s.path))
		if s.name == "chat" {
			d.click("How far is the survey?")
			d.answered(1)
			d.say("how many stoves are there in Kitui?")
			d.answered(2)
			d.run("go to the top", chromedp.Evaluate(`scrollTo(0, 0)`, nil))
		}
		d.run("wait for "+s.name, chromedp.WaitVisible(s.wait))
		var raw []byte
		d.run("photograph "+s.name, chromedp.CaptureScreenshot(&raw))
		small, err := fewColours(raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(small) > maxPicture {
			t.Errorf("%s has %d bytes, want %d at most", s.name, len(small), maxPicture)
		}
		if err := os.WriteFile(filepath.Join(*pictures, s.name+".png"), small, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fewColours keeps the 256 colours that a picture has most of, which is all of a
// page but the edges of its letters, and takes the nearest for the rest.
func fewColours(raw []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	counts, b := map[color.RGBA]int{}, from.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			counts[coarse(from.At(x, y))]++
		}
	}
	all := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int { return counts[b] - counts[a] })
	var palette color.Palette
	for _, c := range all[:min(256, len(all))] {
		palette = append(palette, c)
	}
	to, known := image.NewPaletted(b, palette), map[color.RGBA]uint8{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := coarse(from.At(x, y))
			i, ok := known[c]
			if !ok {
				i = uint8(palette.Index(c)) //nolint:gosec // below 256
				known[c] = i
			}
			to.SetColorIndex(x, y, i)
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to)
	return out.Bytes(), err
}

// coarse takes shades together that nobody tells apart.
func coarse(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	return color.RGBA{uint8(r>>8) &^ 3, uint8(g>>8) &^ 3, uint8(b>>8) &^ 3, 255} //nolint:gosec // eight bits each
}
