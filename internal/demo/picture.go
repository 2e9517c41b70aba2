package demo

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
)

// Sides of a picture, in pixels.
const (
	pictureWidth  = 160
	pictureHeight = 120
)

// picture draws the stove of a visit: a fire in a clay body before a wall. No two
// are the same. It returns the bytes as PNG and their hash.
func (p *plan) picture(v *visit) (io.Reader, string, error) {
	d := p.dice("picture/" + v.name())
	shade := func(c color.RGBA) color.RGBA {
		k := func(v uint8) uint8 { return uint8(min(255, int(v)*(85+d.IntN(30))/100)) }
		return color.RGBA{k(c.R), k(c.G), k(c.B), 255}
	}
	wall, floor, clay := shade(color.RGBA{200, 178, 146, 255}), shade(color.RGBA{122, 92, 66, 255}), shade(color.RGBA{158, 82, 52, 255})
	dark, fire := color.RGBA{36, 26, 22, 255}, shade(color.RGBA{246, 150, 40, 255})
	cx, cy, r := pictureWidth/2+d.IntN(30)-15, 72+d.IntN(10), 26+d.IntN(8)
	img := image.NewRGBA(image.Rect(0, 0, pictureWidth, pictureHeight))
	for y := range pictureHeight {
		for x := range pictureWidth {
			c := wall
			if y > 92 {
				c = floor
			}
			dx, dy := x-cx, y-cy
			switch {
			case dx*dx+dy*dy < r*r/9 && dy > 0:
				c = fire
			case dx*dx+dy*dy < r*r/6 && dy > 0:
				c = dark
			case dx*dx < r*r && dy > -r && dy < r:
				c = clay
			case dx*dx < r*r*2 && dy <= -r && dy > -r-6:
				c = dark
			}
			if d.IntN(14) == 0 { // the grain of a cheap camera
				c.R, c.G, c.B = c.R-c.R/12, c.G-c.G/12, c.B-c.B/12
			}
			img.SetRGBA(x, y, c)
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return nil, "", fmt.Errorf("draw picture: %w", err)
	}
	sum := sha256.Sum256(out.Bytes())
	return &out, fmt.Sprintf("%x", sum), nil
}
