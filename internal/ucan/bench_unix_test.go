//go:build unix

package ucan_test

import (
	"crypto/ed25519"
	"syscall"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// The bars, as ratios within one run and in CPU time, so that a busy machine
// does not decide.
const (
	mostVerifies = 2.0                  // a full check against one bare signature check
	mostHit      = 5 * time.Microsecond // a token that is remembered
)

// cpu is the CPU time the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkVerify is the signature check alone, of a message as long as what
// an auth invocation signs.
func BenchmarkVerify(b *testing.B) {
	key := seedKey(1)
	message := make([]byte, 330)
	sig := ed25519.Sign(key, message)
	public := key.Public().(ed25519.PublicKey)
	b.ReportAllocs()
	for b.Loop() {
		if !ed25519.Verify(public, message, sig) {
			b.Fatal("bad signature")
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text := loadGolden(b).token(b, "inv_didkey")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ucan.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAuthMiss(b *testing.B) {
	for _, name := range []string{"inv_didkey", "inv_didixo"} {
		b.Run(name, func(b *testing.B) {
			g := loadGolden(b)
			config, text := g.config(b), g.token(b, name)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ucan.New(config).Auth(b.Context(), text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAuthHit(b *testing.B) {
	g := loadGolden(b)
	checker, text := ucan.New(g.config(b)), g.token(b, "inv_didkey")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := checker.Auth(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChain(b *testing.B) {
	g := loadGolden(b)
	config, text := g.config(b), g.token(b, "del_chain")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ucan.New(config).Delegation(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMint(b *testing.B) {
	s := signer(b, user, 1)
	d := ucan.Draft{Audience: oracle, Capabilities: []ucan.Capability{{Can: "*", With: "ixo:oracle"}}, Expires: goldenNow}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Mint(d); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBars measures check, hit and bare verify in turns and fails when a
// bar is broken.
func BenchmarkBars(b *testing.B) {
	g := loadGolden(b)
	config, text := g.config(b), g.token(b, "inv_didkey")
	key, message := seedKey(1), make([]byte, 330)
	sig, public := ed25519.Sign(key, message), key.Public().(ed25519.PublicKey)
	known := ucan.New(config)
	var verify, miss, hit time.Duration
	var rounds int
	for b.Loop() {
		rounds++
		verify += spent(100, func() { ed25519.Verify(public, message, sig) })
		miss += spent(100, func() { _, _ = ucan.New(config).Auth(b.Context(), text) })
		hit += spent(2000, func() { _, _ = known.Auth(b.Context(), text) })
	}
	ratio := float64(miss) / float64(verify)
	each := hit / time.Duration(rounds) / 2000
	b.ReportMetric(ratio, "verifies/check")
	b.ReportMetric(float64(each.Nanoseconds()), "cpu-ns/hit")
	b.ReportMetric(0, "ns/op")
	if rounds > 3 && (ratio > mostVerifies || each > mostHit) {
		b.Errorf("a check costs %.2f verifies (at most %.1f), a hit %v (at most %v)", ratio, mostVerifies, each, mostHit)
	}
}

func spent(n int, f func()) time.Duration {
	start := cpu()
	for range n {
		f()
	}
	return cpu() - start
}
