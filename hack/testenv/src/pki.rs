//! The certificate authority of an environment, and the certificates that it signs.
//!
//! The servers and users of an environment trust only this authority. A client therefore never accepts a server of
//! another environment that happens to have the same port.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};

use crate::Error;

/// A certificate and its key, in files.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

/// The authority of one environment; its files are in one folder.
pub(crate) struct Authority {
    folder: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The authority's own certificate and key.
    pub(crate) identity: Identity,
}

impl Authority {
    /// Makes a new authority and writes it into a new folder.
    pub(crate) fn create(folder: &Path) -> Result<Self, Error> {
        fs::create_dir(folder).map_err(Error::io(format!("creating {}", folder.display())))?;
        let mut params = CertificateParams::default();
        params.distinguished_name = name("genclient test environment", None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let identity = write(folder, "ca", &issuer.pem(), issuer.key())?;
        Ok(Self { folder: folder.to_owned(), issuer, identity })
    }

    /// A certificate for a server on the loopback interface; etcd's gateway also presents it as a client.
    pub(crate) fn server(&self, file: &str) -> Result<Identity, Error> {
        let names = [
            "127.0.0.1",
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "10.0.0.1",
        ];
        let mut params = CertificateParams::new(names.map(String::from))?;
        params.distinguished_name = name(file, None);
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(file, params)
    }

    /// A certificate that authenticates a user, and perhaps the group it belongs to.
    pub(crate) fn user(&self, file: &str, user: &str, group: Option<&str>) -> Result<Identity, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name(user, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(file, params)
    }

    /// A key pair without a certificate: the public key takes the certificate's place.
    pub(crate) fn key_pair(&self, file: &str) -> Result<Identity, Error> {
        let key = KeyPair::generate()?;
        write(&self.folder, file, &key.public_key_pem(), &key)
    }

    fn sign(&self, file: &str, mut params: CertificateParams) -> Result<Identity, Error> {
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        let key = KeyPair::generate()?;
        let cert = params.signed_by(&key, &self.issuer)?;
        write(&self.folder, file, &cert.pem(), &key)
    }
}

fn name(common_name: &str, organization: Option<&str>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    if let Some(organization) = organization {
        name.push(DnType::OrganizationName, organization);
    }
    name
}

fn write(folder: &Path, file: &str, public: &str, key: &KeyPair) -> Result<Identity, Error> {
    let identity =
        Identity { cert: folder.join(format!("{file}.crt")), key: folder.join(format!("{file}.key")) };
    fs::write(&identity.cert, public).map_err(Error::io(format!("writing {}", identity.cert.display())))?;
    fs::write(&identity.key, key.serialize_pem())
        .map_err(Error::io(format!("writing {}", identity.key.display())))?;
    Ok(identity)
}
