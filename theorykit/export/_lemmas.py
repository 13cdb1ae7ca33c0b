"""What scripts of proofs for all values start with: a few lemmas, and tactics for signs."""

LEMMAS = """\
From Coq Require Import Reals List Lra Lia Arith.
Import ListNotations.
Open Scope R_scope.

Lemma named (x : R) : {y : R | y = x}.
Proof. exists x. reflexivity. Qed.

Lemma even_power (x : R) (n : nat) : Nat.even n = true -> 0 <= x ^ n.
Proof.
  intros E. apply Nat.even_spec in E. destruct E as [k ->].
  rewrite pow_mult. apply pow_le, pow2_ge_0.
Qed.

Lemma at_most (a b n d : R) : b - a = n / d -> 0 < d -> 0 <= n -> a <= b.
Proof.
  intros E D N. apply Rminus_le. replace (a - b) with (- (n / d)) by lra.
  enough (0 <= n / d) by lra. apply Rmult_le_pos; [exact N | apply Rlt_le, Rinv_0_lt_compat, D].
Qed.

Lemma times (m p t : R) : 0 < m -> m * p = t -> 0 <= t -> 0 <= p.
Proof.
  intros M E T. apply (Rmult_le_reg_l m); [exact M | rewrite E, Rmult_0_r; exact T].
Qed.

(* The part without s has the larger square, or the part with it. *)
Lemma without_root (a b s : R) : 0 <= a -> 0 <= a * a - b * b * (s * s) -> 0 <= a + b * s.
Proof.
  intros A S. destruct (Rle_or_lt 0 (a + b * s)) as [L | L]; [exact L | exfalso].
  assert (0 < - (b * s) - a) by lra. assert (0 < - (b * s) + a) by lra.
  assert (0 < (- (b * s) - a) * (- (b * s) + a)) by (apply Rmult_lt_0_compat; assumption). lra.
Qed.

Lemma with_root (a b s : R) :
  0 <= b -> 0 <= s -> 0 <= b * b * (s * s) - a * a -> 0 <= a + b * s.
Proof.
  intros B S G. replace (a + b * s) with (b * s + a * 1) by ring. apply without_root.
  - apply Rmult_le_pos; assumption.
  - replace (b * s * (b * s) - a * a * (1 * 1)) with (b * b * (s * s) - a * a) by ring. exact G.
Qed.

Lemma without_root_strictly (a b s : R) :
  0 <= a -> 0 < a * a - b * b * (s * s) -> 0 < a + b * s.
Proof.
  intros A S. assert (L : 0 <= a + b * s) by (apply without_root; lra).
  destruct L as [L | L]; [exact L | exfalso].
  assert (a * a - b * b * (s * s) = (a + b * s) * (a - b * s)) as E by ring.
  rewrite E, <- L, Rmult_0_l in S. lra.
Qed.

Lemma with_root_strictly (a b s : R) :
  0 <= b -> 0 <= s -> 0 < b * b * (s * s) - a * a -> 0 < a + b * s.
Proof.
  intros B S G. replace (a + b * s) with (b * s + a * 1) by ring. apply without_root_strictly.
  - apply Rmult_le_pos; assumption.
  - replace (b * s * (b * s) - a * a * (1 * 1)) with (b * b * (s * s) - a * a) by ring. exact G.
Qed.

Lemma root_is (q a : R) : 0 <= q -> q * q = a -> sqrt a = q.
Proof. intros Q <-. apply sqrt_square, Q. Qed.

Lemma abs_is (q a : R) : 0 <= q -> q * q = a * a -> Rabs a = q.
Proof.
  intros Q E. rewrite <- (Rabs_pos_eq q Q). apply Rsqr_eq_abs_0. unfold Rsqr. now symmetry.
Qed.

Lemma square_of_abs (a : R) : Rabs a * Rabs a = a * a.
Proof. rewrite <- Rabs_mult. apply Rabs_pos_eq, Rle_0_sqr. Qed.

Lemma ln_is (a b : R) : exp b = a -> ln a = b.
Proof. intros <-. apply ln_exp. Qed.

Lemma exp_of_ln (l p : R) : l = ln p -> 0 < p -> exp l = p.
Proof. intros ->. apply exp_ln. Qed.

Lemma exp_is (a s p q : R) : a = s -> exp s = p -> p = q -> exp a = q.
Proof. intros -> -> ->. reflexivity. Qed.

Lemma ln_positive (l p : R) : l = ln p -> 1 < p -> 0 < l.
Proof. intros -> P. rewrite <- ln_1. apply ln_increasing; lra. Qed.

Lemma positive_by_square (a : R) : 0 <= a -> 0 < a * a -> 0 < a.
Proof. intros [A | <-] S; [exact A | rewrite Rmult_0_l in S; lra]. Qed.

Lemma quotient_nonneg (n d : R) : 0 <= n -> 0 < d -> 0 <= n / d.
Proof. intros N D. apply Rmult_le_pos; [exact N | apply Rlt_le, Rinv_0_lt_compat, D]. Qed.

Lemma exp_sum (a b p q : R) : exp a = p -> exp b = q -> exp (a + b) = p * q.
Proof. intros <- <-. apply exp_plus. Qed.

Lemma exp_up (n : nat) (a p : R) : exp a = p -> exp (INR n * a) = p ^ n.
Proof.
  intros <-. induction n as [| n I].
  - simpl. rewrite Rmult_0_l. apply exp_0.
  - rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus, I. simpl. ring.
Qed.

Lemma exp_down (n : nat) (a p : R) : exp a = p -> exp (- INR n * a) = / p ^ n.
Proof. intros E. rewrite Ropp_mult_distr_l_reverse, exp_Ropp. f_equal. now apply exp_up. Qed.

Lemma exponential (w n e : R) : exp (w * n) = e -> 0 < w -> 1 <= e -> 0 <= n.
Proof.
  intros <- W L. apply (Rmult_le_reg_l w); [exact W | rewrite Rmult_0_r].
  destruct (Rle_or_lt 0 (w * n)) as [G | G]; [exact G | exfalso].
  apply exp_increasing in G. rewrite exp_0 in G. lra.
Qed.

Lemma tangent (z e : R) : exp z = e -> 0 <= e - 1 - z.
Proof. intros <-. pose proof (exp_ineq1_le z). lra. Qed.

Lemma raised (f e n d : R) : exp f = e -> 0 <= f -> e - 1 = n / d -> 0 < d -> 0 <= n.
Proof.
  intros <- F E D. replace n with ((exp f - 1) * d) by (rewrite E; field; lra).
  apply Rmult_le_pos; [| lra]. pose proof (exp_ineq1_le f). lra.
Qed.

Lemma raised_strictly (f e n d : R) : exp f = e -> 0 < f -> e - 1 = n / d -> 0 < d -> 0 < n.
Proof.
  intros <- F E D. replace n with ((exp f - 1) * d) by (rewrite E; field; lra).
  apply Rmult_lt_0_compat; [| exact D]. pose proof (exp_ineq1_le f). lra.
Qed.

Lemma entry (a b : R) (l m : list R) : a = b -> l = m -> a :: l = b :: m.
Proof. intros -> ->. reflexivity. Qed.

(* Sums and products of what is not negative, or positive. *)
Ltac nonneg :=
  first [
    lazymatch goal with
    | |- 0 <= IZR _ => apply IZR_le; discriminate
    | |- 0 <= IZR _ / IZR _ =>
        apply Rlt_le, Rdiv_lt_0_compat; apply IZR_lt; reflexivity
    | |- 0 <= _ + _ => apply Rplus_le_le_0_compat; nonneg
    | |- 0 <= _ * _ => apply Rmult_le_pos; nonneg
    | |- 0 <= _ ^ _ => first [apply even_power; reflexivity | apply pow_le; nonneg]
    end
  | assumption | apply Rlt_le; assumption | lra].

Ltac positive :=
  first [
    lazymatch goal with
    | |- 0 < IZR _ => apply IZR_lt; reflexivity
    | |- 0 < IZR _ / IZR _ => apply Rdiv_lt_0_compat; apply IZR_lt; reflexivity
    | |- 0 < _ + _ =>
        first [apply Rplus_lt_le_0_compat; [positive | nonneg]
              | apply Rplus_le_lt_0_compat; [nonneg | positive]]
    | |- 0 < _ * _ => apply Rmult_lt_0_compat; positive
    | |- 0 < _ ^ _ => apply pow_lt; positive
    end
  | assumption | lra].

Ltac nonzero :=
  repeat split;
  first [assumption | apply Rgt_not_eq; assumption | apply Rgt_not_eq, pow_lt; assumption
        | apply Rgt_not_eq; unfold Rgt; positive | lra].

Ltac by_field := first [reflexivity | ring | field; nonzero].

Ltac by_max := unfold Rmax, Rmin; repeat destruct Rle_dec; lra."""
