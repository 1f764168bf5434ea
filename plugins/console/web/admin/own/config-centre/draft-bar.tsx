import { Button } from '@mantine/core'
import { useEffect } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { useDiscardQuestion } from '../../pages/forms/discard-question.tsx'
import { pressed } from '../../shell/shortcuts.ts'
import classes from '../draft-bar.module.css'
import { draft } from './config-draft.ts'

interface DraftBarProps {
  readonly count: number
  /** True if the list shows only the keys in the draft. */
  readonly isShown: boolean
  onShow(): void
  onReview(): void
  onSave(): void
}

/**
 * Shows a bar with the current draft at the bottom of the window. A single change can be saved without its review, since
 * the user has just seen its field.
 */
export function DraftBar({ count, isShown, onShow, onReview, onSave }: DraftBarProps) {
  const { translate } = useLanguage()
  const question = useDiscardQuestion(translate('config.discard-all', { count }), () => draft.clear())
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (pressed('configuration', event) === 'review') onReview()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [onReview])
  return (
    <section className={classes.bar} aria-label={translate('config.draft')}>
      <span role="status">{translate('config.changed', { count })}</span>
      <div className={classes.buttons}>
        <Button variant="subtle" size="sm" aria-pressed={isShown} onClick={onShow}>
          {translate(isShown ? 'config.show-all' : 'config.show-draft')}
        </Button>
        <Button variant="default" size="sm" onClick={question.ask}>
          {translate('config.discard')}
        </Button>
        <Button size="sm" variant={count === 1 ? 'default' : 'filled'} onClick={onReview}>
          {translate('config.review-now')}
        </Button>
        {count === 1 && (
          <Button size="sm" onClick={onSave}>
            {translate('config.save-now')}
          </Button>
        )}
      </div>
      {question.dialog}
    </section>
  )
}
