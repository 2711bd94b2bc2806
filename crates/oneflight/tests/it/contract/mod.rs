//! The contract of a flight, written once and run against every mode of flying.
//!
//! ```text
//!   rows ── scripts, one a row: what happens, and what each caller gets     modes ── what a mode is made of
//!     └──────────────▶ flight_contract!(name => mode, …) ◀────────────────────┘      and what it promises
//! ```
//!
//! R1. A row asks a mode's `Promise` where modes differ, and nothing else: what is not in a promise is the same everywhere.
//! R2. A row that cannot apply to a mode is not instantiated for it: no row passes without having done its work.
//!
//! The ids in the names are those of the promised behaviours. `limited` also runs the rows on longest flights, and the modes
//! with a clock those on the limits of callers. A row that is in no list is dead code, which the lints refuse.

mod modes;
mod promise;
mod rows;

/// Makes a module of tests for each mode.
macro_rules! flight_contract {
    ($($(#[$attribute:meta])* $mode:ident => $make:path, rows: $($group:ident)+;)+) => {$(
        $(#[$attribute])*
        mod $mode {
            $(flight_contract!(@$group $make);)+
        }
    )+};
    // What every mode does.
    (@all $make:path) => { flight_contract! { @tests all, $make,
        a1_a2_panic_reaches_a_hundred_callers_with_its_message_and_frees_the_key,
        a1_panic_of_the_function_that_makes_the_work_is_an_error_too,
        a3_leader_dropped_with_three_followers_and_all_are_served,
        a3_leaders_dropped_ten_thousand_times_in_a_row_harm_nobody,
        a4_leader_lost_and_exactly_one_takes_over,
        a5_takeover_goes_on_to_the_next_when_the_candidates_leave_too,
        a6_unpolled_callers_hold_up_no_more_than_is_promised,
        a6_newcomer_is_served_although_nobody_else_is_polled,
        a7_a12_waiter_cancelled_and_nobody_notices,
        a8_a9_twenty_hurried_callers_of_slower_work,
        a10_a11_all_dropped_and_the_next_begins_anew,
        a13_forget_in_flight_and_the_old_one_answers_its_own,
        a18_a27_call_right_after_the_end_starts_afresh,
        a20_same_key_elsewhere_is_another_flight,
        a21_recursive_call_is_an_error_and_the_work_goes_on,
        a21_call_that_waits_for_itself_by_way_of_another_key_is_an_error_too,
        a23_unrelated_keys_do_not_wait_for_each_other,
        a26_a28_error_with_ten_callers_is_one_run_and_one_error,
        a32_dedupe_alone_coalesces_and_remembers_nothing,
        a38_keys_that_end_at_any_stage_leave_nothing_in_the_table,
    }};
    // What groups alone can be asked.
    (@groups $make:path) => { flight_contract! { @tests groups, $make,
        a16_forget_unshared_means_that_nobody_else_joins,
        a17_call_since_a_mark_joins_no_flight_from_before_the_write,
        a37_closed_group_starts_nothing_and_ends_what_is_up,
    }};
    // What needs a clock.
    (@limits $make:path) => { flight_contract! { @tests limits, $make,
        a8_a9_twenty_callers_with_limits_of_slower_work,
        a9_caller_with_a_limit_times_out_and_the_flight_lives,
    }};
    // What needs a longest flight.
    (@overdue $make:path) => { flight_contract! { @tests limits, $make,
        a29_a30_hung_flight_is_overdue_and_its_late_answer_goes_nowhere,
    }};
    (@tests $file:ident, $make:path, $($row:ident,)+) => {$(
        #[test]
        fn $row() {
            super::rows::$file::$row($make);
        }
    )+};
}

flight_contract! {
    group => super::modes::group, rows: all groups limits;
    colliding_keys_in_one_shard => super::modes::colliding, rows: all groups limits;
    limited => super::modes::limited, rows: all groups limits overdue;
    autopilot => super::modes::autopilot, rows: all groups limits;
    detached => super::modes::detached, rows: all groups limits;
    #[cfg(feature = "tokio")]
    limited_autopilot_on_tokio => super::modes::autopilot_on_tokio, rows: all groups limits overdue;
    #[cfg(feature = "tokio")]
    detached_on_tokio => super::modes::detached_on_tokio, rows: all groups limits;
    scoped => super::modes::scoped, rows: all limits;
    loader => super::modes::loader, rows: all;
}
