//! A certificate authority in memory, and a server certificate that renews itself.
//!
//! # Guarantees
//! - **Nothing is written to disk.** The keys live and end with the process. Whoever is to trust the server gets the
//!   [bundle](Authority::bundle), which stays the same as long as the process runs.
//! - **A certificate is renewed long before it expires:** every new connection gets one with at least a third of its
//!   lifetime left, by the clock that its peer reads, too. Connections that are open keep theirs.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use time::OffsetDateTime;
use tracing::{error, info};

/// How long the authority itself is valid. A process does not run that long.
const AUTHORITY_LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// A certificate that lives for a shorter time would be renewed all the time.
const SHORTEST_LIFETIME: Duration = Duration::from_secs(1);
/// How far the clocks of two machines may be apart.
const CLOCK_SKEW: Duration = Duration::from_secs(60);

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An authority for one server, and the server's newest certificate.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The names and addresses of the server.
    names: Vec<String>,
    lifetime: Duration,
    provider: Arc<CryptoProvider>,
    newest: Mutex<Issued>,
}

/// A certificate with its key.
#[derive(Debug)]
struct Issued {
    key: Arc<CertifiedKey>,
    issued: SystemTime,
}

impl Authority {
    /// Creates an authority, and the first certificate of a server with these names and addresses.
    ///
    /// # Errors
    ///
    /// Returns an error if a name cannot be part of a certificate, or if a certificate cannot live that long or that
    /// short.
    pub fn new(names: Vec<String>, lifetime: Duration) -> Result<Arc<Self>, Failure> {
        if lifetime < SHORTEST_LIFETIME {
            return Err(format!("a certificate must live for {SHORTEST_LIFETIME:?} at least").into());
        }
        let mut params = params(Vec::new(), AUTHORITY_LIFETIME)?;
        params.distinguished_name.push(DnType::CommonName, "sidecar-injector authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let provider = Arc::new(ring::default_provider());
        let key = Arc::new(issue(&issuer, &names, lifetime, &provider)?);
        let newest = Mutex::new(Issued { key, issued: SystemTime::now() });
        Ok(Arc::new(Self { issuer, names, lifetime, provider, newest }))
    }

    /// Returns the certificate of the authority, as PEM: what a client has to trust.
    pub fn bundle(&self) -> String {
        self.issuer.pem()
    }

    /// Returns the TLS configuration of the server, which always uses the newest certificate.
    ///
    /// # Errors
    ///
    /// Returns an error if the crypto provider has no usable protocol version.
    pub fn server_config(self: &Arc<Self>) -> Result<Arc<ServerConfig>, Failure> {
        let config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as Arc<dyn ResolvesServerCert>);
        Ok(Arc::new(config))
    }

    /// Returns a certificate with at least a third of its lifetime left, at this time of the wall clock.
    fn certificate(&self, now: SystemTime) -> Arc<CertifiedKey> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that was set back makes it look as if it were issued in the future.
        let age = now.duration_since(newest.issued).unwrap_or(self.lifetime);
        if age >= self.lifetime * 2 / 3 {
            match issue(&self.issuer, &self.names, self.lifetime, &self.provider) {
                Ok(key) => {
                    *newest = Issued { key: Arc::new(key), issued: now };
                    info!(lifetime = ?self.lifetime, "renewed the certificate");
                }
                Err(error) => error!(%error, "cannot renew the certificate; the next connection tries again"),
            }
        }
        newest.key.clone()
    }
}

impl ResolvesServerCert for Authority {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.certificate(SystemTime::now()))
    }
}

fn params(names: Vec<String>, lifetime: Duration) -> Result<CertificateParams, Failure> {
    let mut params = CertificateParams::new(names)?;
    let now = OffsetDateTime::now_utc();
    params.not_before = now - CLOCK_SKEW;
    params.not_after = time::Duration::try_from(lifetime)
        .ok()
        .and_then(|lifetime| now.checked_add(lifetime))
        .ok_or_else(|| format!("a certificate cannot live for {lifetime:?}"))?;
    Ok(params)
}

fn issue(
    issuer: &CertifiedIssuer<'static, KeyPair>,
    names: &[String],
    lifetime: Duration,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, Failure> {
    let mut params = params(names.to_vec(), lifetime)?;
    params.distinguished_name.push(DnType::CommonName, "sidecar-injector");
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, issuer)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    Ok(CertifiedKey::from_der(vec![certificate.der().clone()], key, provider)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_gets_a_certificate_with_a_third_of_its_lifetime_left() {
        let lifetime = Duration::from_secs(300);
        let authority = Authority::new(vec!["localhost".to_owned()], lifetime).unwrap();
        let at = |seconds| SystemTime::now() + Duration::from_secs(seconds);
        let first = authority.certificate(at(190));
        assert!(Arc::ptr_eq(&first, &authority.certificate(at(0))));
        let second = authority.certificate(at(210));
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&second, &authority.certificate(at(400))));
        // However long nobody has asked, and even if the clock was set back.
        let third = authority.certificate(at(100_000));
        assert!(!Arc::ptr_eq(&second, &third));
        assert!(!Arc::ptr_eq(&third, &authority.certificate(at(0))));
    }
}
