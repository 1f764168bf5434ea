import { Button } from '@mantine/core'
import { useSpeech } from '../../../app/app.tsx'
import classes from '../draft-bar.module.css'
import { draft } from './config-draft.ts'

interface DraftBarProps {
  readonly count: number
  /** True if the list only shows the draft. */
  readonly isShown: boolean
  onShow(): void
  onReview(): void
}

/** The current draft, at the bottom of the window. */
export function DraftBar({ count, isShown, onShow, onReview }: DraftBarProps) {
  const { say } = useSpeech()
  return (
    <section className={classes.bar} aria-label={say('config.draft')}>
      <span role="status">{say('config.changed', { count })}</span>
      <div className={classes.buttons}>
        <Button variant="subtle" size="sm" aria-pressed={isShown} onClick={onShow}>
          {say(isShown ? 'config.show-all' : 'config.show-draft')}
        </Button>
        <Button
          variant="default"
          size="sm"
          onClick={() => window.confirm(say('config.discard-all', { count })) && draft.clear()}
        >
          {say('config.discard')}
        </Button>
        <Button size="sm" onClick={onReview}>
          {say('config.review-now')}
        </Button>
      </div>
    </section>
  )
}
