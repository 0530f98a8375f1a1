"""Tests of the judge: `python3 -m unittest discover hack/trial`."""

import unittest

from recorder import Write, judge


def steady(candidate, term, begin, end):
    return [Write(tenths / 10, candidate, term) for tenths in range(round(begin * 10), round(end * 10) + 1)]


def record(*parts):
    return sorted(sum(parts, []), key=lambda write: write.at)


class Judge(unittest.TestCase):
    def test_leaders_that_follow_each_other_do_not_overlap(self):
        verdict = judge(record(steady("a", 1, 0, 5), steady("b", 2, 5.1, 9)), 9)
        self.assertEqual((verdict.leaderships, verdict.overlaps, verdict.late, verdict.gaps), (2, [], [], []))

    def test_a_pause_is_no_overlap_and_a_late_write_is_one(self):
        verdict = judge(record(steady("a", 1, 0, 5), steady("b", 2, 20, 30), [Write(25.05, "a", 1)]), 30)
        self.assertEqual(verdict.overlaps, [(25.05, 25.05)])
        self.assertEqual(verdict.late, [Write(25.05, "a", 1)])
        self.assertEqual(verdict.backwards, 1)
        self.assertEqual(verdict.gaps, [(5, 20)])

    def test_an_overlap_lasts_as_long_as_both_write(self):
        verdict = judge(record(steady("a", 1, 0, 8), steady("b", 1, 5.1, 20)), 20)
        self.assertEqual(verdict.overlaps, [(5.1, 8.0)])
        self.assertEqual(len(verdict.late), 29)

    def test_three_leaders_at_once_are_one_overlap(self):
        verdict = judge(record(steady("a", 1, 0, 8), steady("b", 1, 5, 9), steady("c", 1, 7, 20)), 20)
        self.assertEqual(verdict.overlaps, [(5, 9)])

    def test_a_late_write_counts_though_the_later_leader_is_silent_by_then(self):
        verdict = judge(record(steady("a", 1, 0, 5), steady("b", 2, 20, 25), [Write(30, "a", 1)]), 30)
        self.assertEqual((verdict.overlaps, len(verdict.late)), ([], 1))

    def test_who_outlasts_a_rival_leads_on(self):
        verdict = judge(record(steady("a", 1, 0, 30), steady("b", 1, 5.1, 8)), 30)
        self.assertEqual(verdict.overlaps, [(5.1, 8.0)])
        self.assertTrue(all(5 <= write.at <= 9 for write in verdict.late))

    def test_a_candidate_may_lead_again(self):
        verdict = judge(record(steady("a", 1, 0, 5), steady("b", 2, 6, 9), steady("a", 3, 9.5, 12)), 12)
        self.assertEqual((verdict.leaderships, verdict.overlaps, verdict.late, verdict.backwards), (3, [], [], 0))

    def test_the_time_after_the_last_write_is_without_a_leader(self):
        self.assertEqual(judge(steady("a", 1, 0, 5), 12).gaps, [(5, 12)])


if __name__ == "__main__":
    unittest.main()
