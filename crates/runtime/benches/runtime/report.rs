use crate::*;
pub(crate) fn section(_: &Plan, scales: &[(Kind, scale::Scale)], _: &[output::Stream], cpu: &output::Cpu, ad: &[adopting::Adoption]) -> String {
    let mut t = format!("{scales:#?}");
    for s in output::SUBJECTS { t += &format!("{s:?} {:?}\n", cpu.of(s)); }
    for a in ad { t += &format!("{} {:?} {:?} {:?}\n", a.stream, a.saved, a.rebuild, a.adopt); }
    t
}
