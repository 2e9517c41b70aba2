package ussd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd"
)

// issuer issues certificates.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	c := (&issuer{}).issue(t, func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	})
	return &issuer{c.Leaf, c.PrivateKey.(*ecdsa.PrivateKey)}
}

// issue makes a certificate for a client; of no issuer it is its own.
func (i *issuer) issue(t *testing.T, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	now := newClock().now()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(c)
	}
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	parent, signer := c, key
	if i.cert != nil {
		parent, signer = i.cert, i.key
	}
	der := must(x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer))(t)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: must(x509.ParseCertificate(der))(t)}
}

// TestCertificates: whoever shows a client certificate of the authority and has
// its key is a gateway, and nobody else is.
func TestCertificates(t *testing.T) {
	t.Parallel()
	authority, other := newIssuer(t), newIssuer(t)
	pool := x509.NewCertPool()
	pool.AddCert(authority.cert)
	l := newLine(t, dbtest.SQLite(t), newClock(), func(cfg *ussd.Config) { cfg.GatewayCA, cfg.GatewayOnly = pool, true })
	s := httptest.NewUnstartedServer(l.http)
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, ClientCAs: pool}
	s.StartTLS()
	t.Cleanup(s.Close)
	middle := authority.issue(t, func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	})
	below := (&issuer{middle.Leaf, middle.PrivateKey.(*ecdsa.PrivateKey)}).issue(t, nil)
	below.Certificate = append(below.Certificate, middle.Certificate[0])
	good := authority.issue(t, nil)
	for name, tt := range map[string]struct {
		show []tls.Certificate
		want bool
	}{
		"of the authority":   {[]tls.Certificate{good}, true},
		"of one below it":    {[]tls.Certificate{below}, true},
		"none":               {nil, false},
		"of another":         {[]tls.Certificate{other.issue(t, nil)}, false},
		"of its own":         {[]tls.Certificate{(&issuer{}).issue(t, nil)}, false},
		"for servers":        {[]tls.Certificate{authority.issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })}, false},
		"that has ended":     {[]tls.Certificate{authority.issue(t, func(c *x509.Certificate) { c.NotAfter = c.NotBefore.Add(time.Minute) })}, false},
		"that has not begun": {[]tls.Certificate{authority.issue(t, func(c *x509.Certificate) { c.NotBefore = c.NotAfter.Add(-time.Minute) })}, false},
	} {
		t.Run(name, func(t *testing.T) {
			transport := s.Client().Transport.(*http.Transport).Clone()
			transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if len(tt.show) == 0 {
					return &tls.Certificate{}, nil
				}
				return &tt.show[0], nil
			}
			defer transport.CloseIdleConnections()
			r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/ussd", strings.NewReader(body("s", phone1, ""))))(t)
			r.Header.Set("Content-Type", "application/json")
			res := must((&http.Client{Transport: transport}).Do(r))(t)
			defer res.Body.Close()
			answer := must(io.ReadAll(res.Body))(t)
			if got := strings.HasPrefix(string(answer), "CON "); got != tt.want {
				t.Errorf("answer = %d %s, want a screen: %v", res.StatusCode, answer, tt.want)
			}
		})
	}
	// What a proxy says about certificates counts for nothing.
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/ussd", strings.NewReader(body("s", phone1, "")))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Client-Cert", "good")
	w := httptest.NewRecorder()
	l.http.ServeHTTP(w, r)
	if strings.HasPrefix(w.Body.String(), "CON ") {
		t.Error("a header is taken for a certificate")
	}
}
