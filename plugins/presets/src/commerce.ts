import type { Plugin } from '@plinth/kernel'
import memberPoints from '@plinth/member-points'
import money from '@plinth/money'
import payments from '@plinth/money/payments'

/** The money ledger, payment orders and member points. Requires `operations`. */
export const commerce: readonly Plugin[] = [money, payments, memberPoints]
