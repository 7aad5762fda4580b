//! Compiles one loop for each instruction set that a machine may have, and picks the best at run time.
//!
//! The loops are plain Rust that the compiler turns into vector code. A loop must be inlined into its callers here, or it
//! is compiled for the least machine only.

/// An instruction set that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InstructionSet(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// What every machine of the target has.
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// With the extensions BW, DQ and VL.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl InstructionSet {
    /// Those that the machine has, the best first.
    pub(crate) fn all() -> impl Iterator<Item = InstructionSet> {
        #[cfg(target_arch = "x86_64")]
        let wide = {
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq");
            [avx512.then_some(Level::Avx512), is_x86_feature_detected!("avx2").then_some(Level::Avx2)]
        };
        #[cfg(not(target_arch = "x86_64"))]
        let wide: [Option<Level>; 0] = [];
        wide.into_iter().flatten().chain([Level::Baseline]).map(InstructionSet)
    }

    /// The best one.
    pub(crate) fn best() -> InstructionSet {
        InstructionSet::all().next().unwrap_or(InstructionSet(Level::Baseline))
    }

    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            Level::Baseline => "baseline",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "AVX-512",
        }
    }

    pub(crate) fn level(self) -> Level {
        self.0
    }
}

/// Defines a function that runs a loop as it was compiled for an instruction set, which is its first argument.
macro_rules! for_each_instruction_set {
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident<$($generic:ident: $bound:path),*>($($argument:ident: $type:ty),* $(,)?)
            $(-> $result:ty)? = $inlined:path;
    ) => {
        $(#[$attribute])*
        $visibility fn $name<$($generic: $bound),*>(
            set: $crate::instruction_set::InstructionSet,
            $($argument: $type),*
        ) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
                fn avx512<$($generic: $bound),*>($($argument: $type),*) $(-> $result)? {
                    $inlined($($argument),*)
                }
                #[target_feature(enable = "avx2")]
                fn avx2<$($generic: $bound),*>($($argument: $type),*) $(-> $result)? {
                    $inlined($($argument),*)
                }
                match set.level() {
                    // SAFETY: the machine has it: an instruction set is made of what was detected only.
                    $crate::instruction_set::Level::Avx512 => return unsafe { avx512($($argument),*) },
                    // SAFETY: as above.
                    $crate::instruction_set::Level::Avx2 => return unsafe { avx2($($argument),*) },
                    $crate::instruction_set::Level::Baseline => {}
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            let $crate::instruction_set::Level::Baseline = set.level();
            $inlined($($argument),*)
        }
    };
}
pub(crate) use for_each_instruction_set;
