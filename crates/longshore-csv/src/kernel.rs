//! Which instruction set scans.
//!
//! All kernels give the same marks, surveys and errors; they differ in speed only. The best one that the CPU
//! has is chosen at run time; tests and benchmarks name another.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// An instruction set that the scan and the survey are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// 64 bytes in one register, marks by `vpcompressb` (Ice Lake, Zen 4 and later).
    Avx512,
    /// Two registers of 32 bytes (Haswell, Zen and later).
    Avx2,
    /// Four registers of 16 bytes, carry-less multiplication (Westmere and later): what the paper had.
    Sse42,
    /// Four registers of 16 bytes on 64-bit ARM.
    Neon,
    /// Eight machine words; runs everywhere.
    Portable,
}

impl Kernel {
    /// Every kernel, fastest first.
    pub const ALL: [Kernel; 5] = [Kernel::Avx512, Kernel::Avx2, Kernel::Sse42, Kernel::Neon, Kernel::Portable];

    /// The fastest kernel that this CPU runs.
    #[must_use]
    pub fn best() -> Kernel {
        Kernel::ALL.into_iter().find(|kernel| kernel.is_available()).unwrap_or(Kernel::Portable)
    }

    /// The kernels that this CPU runs, fastest first.
    #[must_use]
    pub fn available() -> Vec<Kernel> {
        Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()).collect()
    }

    /// Whether this CPU runs the kernel.
    #[must_use]
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            match self {
                Kernel::Avx512 => {
                    is_x86_feature_detected!("avx512f")
                        && is_x86_feature_detected!("avx512bw")
                        && is_x86_feature_detected!("avx512dq")
                        && is_x86_feature_detected!("avx512vl")
                        && is_x86_feature_detected!("avx512vbmi")
                        && is_x86_feature_detected!("avx512vbmi2")
                        && Kernel::Avx2.is_available()
                }
                Kernel::Avx2 => {
                    is_x86_feature_detected!("avx2")
                        && is_x86_feature_detected!("bmi1")
                        && is_x86_feature_detected!("bmi2")
                        && is_x86_feature_detected!("lzcnt")
                        && Kernel::Sse42.is_available()
                }
                Kernel::Sse42 => {
                    is_x86_feature_detected!("sse4.2")
                        && is_x86_feature_detected!("popcnt")
                        && is_x86_feature_detected!("pclmulqdq")
                }
                Kernel::Neon => false,
                Kernel::Portable => true,
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            match self {
                Kernel::Neon => {
                    std::arch::is_aarch64_feature_detected!("neon") && std::arch::is_aarch64_feature_detected!("aes")
                }
                Kernel::Portable => true,
                Kernel::Avx512 | Kernel::Avx2 | Kernel::Sse42 => false,
            }
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            self == Kernel::Portable
        }
    }

    /// Panics unless the CPU runs the kernel: every call into a kernel rests on this check.
    pub(crate) fn assert_available(self) {
        assert!(self.is_available(), "this CPU does not run the kernel {self}; check Kernel::is_available first");
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kernel::Avx512 => "avx512",
            Kernel::Avx2 => "avx2",
            Kernel::Sse42 => "sse42",
            Kernel::Neon => "neon",
            Kernel::Portable => "portable",
        })
    }
}

/// A name that no [`Kernel`] has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelError {
    name: String,
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no kernel \"{}\"; choose one of", self.name)?;
        for (index, kernel) in Kernel::ALL.into_iter().enumerate() {
            write!(f, "{} {kernel}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl Error for KernelError {}

impl FromStr for Kernel {
    type Err = KernelError;

    fn from_str(name: &str) -> Result<Kernel, KernelError> {
        Kernel::ALL
            .into_iter()
            .find(|kernel| kernel.to_string() == name)
            .ok_or_else(|| KernelError { name: name.to_owned() })
    }
}

/// Evaluates an expression with a name bound to the module of a kernel that [`Kernel::assert_available`] let pass.
macro_rules! with_kernel {
    ($kernel:expr, $module:ident => $value:expr) => {
        match $kernel {
            #[cfg(target_arch = "x86_64")]
            $crate::kernel::Kernel::Avx512 => {
                use $crate::scan::avx512 as $module;
                $value
            }
            #[cfg(target_arch = "x86_64")]
            $crate::kernel::Kernel::Avx2 => {
                use $crate::scan::avx2 as $module;
                $value
            }
            #[cfg(target_arch = "x86_64")]
            $crate::kernel::Kernel::Sse42 => {
                use $crate::scan::sse42 as $module;
                $value
            }
            #[cfg(target_arch = "aarch64")]
            $crate::kernel::Kernel::Neon => {
                use $crate::scan::neon as $module;
                $value
            }
            $crate::kernel::Kernel::Portable => {
                use $crate::scan::portable as $module;
                $value
            }
            other => unreachable!("{other} is not a kernel of this architecture"),
        }
    };
}
pub(crate) use with_kernel;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for kernel in Kernel::ALL {
            assert_eq!(kernel.to_string().parse(), Ok(kernel));
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "AVX".parse::<Kernel>().unwrap_err();
        assert_eq!(error.to_string(), "there is no kernel \"AVX\"; choose one of avx512, avx2, sse42, neon, portable");
    }

    #[test]
    fn the_portable_kernel_is_always_there() {
        assert!(Kernel::Portable.is_available());
        assert_eq!(Kernel::available().last(), Some(&Kernel::Portable));
        assert_eq!(Kernel::available().first(), Some(&Kernel::best()));
    }
}
