import { Button } from '@mantine/core'
import { useSpeech } from '../../../../app/app.tsx'
import { Notice } from '../../../../app/notice.tsx'
import { useFormats } from '../../../pages/shown-value.ts'
import { type Conflict, draft, sentChange } from '../config-draft.ts'
import { ValueText } from '../value-text.tsx'
import classes from './conflicts.module.css'

/** Somebody was faster: what it was, what it is now, what is wanted. Whoever looks decides for each key. */
export function Conflicts({ conflicts }: { readonly conflicts: readonly Conflict[] }) {
  const { say } = useSpeech()
  const formats = useFormats()
  return (
    <Notice tone="warn" title={say('config.conflict.title', { count: conflicts.length })}>
      <p>{say('config.conflict.lead')}</p>
      <div className={classes.scroll}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">{say('config.conflict.key')}</th>
              <th scope="col">{say('config.conflict.was')}</th>
              <th scope="col">{say('config.conflict.theirs')}</th>
              <th scope="col">{say('config.conflict.yours')}</th>
              <th scope="col">
                <span className="visually-hidden">{say('config.conflict.choice')}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {conflicts.map(({ change, now }) => {
              const { was, action } = change
              const value = action === 'set' ? sentChange(change).value : undefined
              return (
                <tr key={change.key}>
                  <th scope="row" title={change.key}>
                    {now.displayTitle}
                  </th>
                  <td>
                    <ValueText value={was.stored?.value ?? was.value} isSecret={was.sensitive} />
                  </td>
                  <td>
                    <ValueText value={now.stored?.value ?? now.value} isSecret={now.sensitive} />
                    {now.stored !== undefined && (
                      <p className={classes.who}>
                        {say('config.fact.stored-by', {
                          name: now.stored.updatedBy ?? say('config.fact.other-operator'),
                          time: formats.time(now.stored.updatedAt),
                        })}
                      </p>
                    )}
                  </td>
                  <td>
                    <ValueText value={value} isSecret={was.sensitive} />
                  </td>
                  <td className={classes.choice}>
                    <Button size="compact-sm" variant="default" onClick={() => draft.drop([change.key])}>
                      {say('config.conflict.take')}
                    </Button>
                    <Button size="compact-sm" variant="default" onClick={() => draft.rebase([now])}>
                      {say('config.conflict.keep')}
                    </Button>
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </Notice>
  )
}
