import type { TextParams } from '@plinth/kernel'

/** A step that cannot go on, in words for whoever installs. `text` names the message. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure'
  readonly text: string
  readonly params: TextParams
  /** Field of the form that is to be corrected, for example `database.host`; empty for none. */
  readonly field: string

  constructor(text: string, params: TextParams = {}, cause?: unknown, field = '') {
    super(text, cause === undefined ? {} : { cause })
    this.text = text
    this.params = params
    this.field = field
  }
}
