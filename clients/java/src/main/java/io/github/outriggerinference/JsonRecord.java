package io.github.outriggerinference;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.lang.reflect.Constructor;
import java.util.List;

/** A record: an object with a member for each component. */
record JsonRecord(Constructor<?> constructor, List<JsonMember> members) implements JsonType {

  @Override
  public JsonObject schema() {
    return JsonMember.schemaOf(members, constructor.getDeclaringClass());
  }

  @Override
  public Object read(JsonElement value, String path) {
    JsonObject object = JsonType.objectOf(value, path);
    Object[] arguments = members.stream().map(member -> member.read(object, path)).toArray();
    return Reflection.call(() -> constructor.newInstance(arguments), path);
  }
}
