package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	pb "example.com/outrigger-client/build/outrigger/v1"
)

// checkTLS calls a sidecar that is reached over the network: it proves who it is by its certificate, and asks
// for the caller's.
func checkTLS(ctx context.Context, _ sidecar) error {
	folder := os.Getenv("OUTRIGGER_TLS_FOLDER")
	pem, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return err
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(pem) {
		return errors.New("ca.crt has no certificate")
	}
	identity, err := tls.LoadX509KeyPair(filepath.Join(folder, "client.crt"), filepath.Join(folder, "client.key"))
	if err != nil {
		return err
	}
	mutual := &tls.Config{RootCAs: authority, Certificates: []tls.Certificate{identity}}
	if err := completeOverTLS(ctx, mutual); err != nil {
		return fmt.Errorf("with a certificate: %w", err)
	}
	for name, config := range map[string]*tls.Config{
		"without a certificate": {RootCAs: authority},
		"without the authority": {Certificates: []tls.Certificate{identity}},
	} {
		if err := completeOverTLS(ctx, config); status.Code(err) != codes.Unavailable {
			return fmt.Errorf("%s: %v, want UNAVAILABLE", name, err)
		}
	}
	return nil
}

func completeOverTLS(ctx context.Context, config *tls.Config) error {
	connection, err := grpc.NewClient(os.Getenv("OUTRIGGER_TLS_ADDR"),
		grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		return err
	}
	defer connection.Close()
	return checkComplete(ctx, sidecar{inference: pb.NewInferenceServiceClient(connection)})
}
